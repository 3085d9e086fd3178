/**
 * The records of a drain that may go out now, in the order that was asked for. What was leased waits here, in its lane,
 * or back in the store; what an earlier drain over the same store left is taken over.
 */
import { HELD, type LeasedRecord, type QueueStore, type Settlement } from './contract';
import { leave, takeOver, type Handover } from './drain-handover';
import { DrainLanes, type LaneStep } from './drain-lanes';
import type { DrainOptions } from './drain-options';

/** Parked records of an earlier run that are read at once. */
const FOUND_TOGETHER = 256;

export class ReadyRecords {
  /** Leased and free to go. */
  readonly list: LeasedRecord[] = [];
  readonly #store: QueueStore;
  readonly #lanes: DrainLanes | undefined;
  readonly #fifo: boolean;
  /** Of a drain with lanes by another key, or none: sorted in when what is parked is known. */
  #unsorted: LeasedRecord[] = [];
  /** What is parked from before is known, */
  #prepared = false;
  /** up to this seq. */
  #knownTo = 0;
  /** Being parked, held. */
  readonly #holding = new Map<number, Promise<unknown>>();
  #left: Handover | undefined;

  /** `settle` resolves once the settlement is durable. */
  constructor(
    { store, policy, keyOf, keyName = '' }: DrainOptions,
    private readonly settle: (settlement: Settlement) => Promise<unknown>,
  ) {
    this.#store = store;
    this.#fifo = policy.ordering === 'fifo';
    const before = takeOver(store);
    const ready = before?.ready.splice(0) ?? [];
    if (policy.ordering === 'key' && keyOf && before?.lanes?.keyName === keyName) {
      this.#prepared = true;
      this.#lanes = before.lanes;
      this.list.push(...ready);
      return;
    }
    const leased = [...ready, ...(before?.lanes?.takeWaiting() ?? [])].sort((a, b) => a.seq - b.seq);
    if (policy.ordering === 'key' && keyOf) {
      this.#lanes = new DrainLanes(keyName, keyOf, policy.maxInFlight);
      this.#unsorted = leased;
    } else this.list.push(...leased);
  }

  /** Bytes of leased records that wait. */
  get waitingBytes(): number {
    return this.#lanes?.waitingBytes ?? 0;
  }

  /** Before each lease. Rejects with the store's error; then it goes on with the next call. */
  async prepare(): Promise<void> {
    if (!this.#prepared) await this.#learn();
    if (this.#prepared) await this.#recall();
  }

  /** Whether only parked records whose time has come may be leased, one at a time. `dueAt`, `now`: Unix ms. */
  onlyParked(dueAt: number | undefined, now: number): boolean {
    for (const step of this.#lanes?.released(dueAt, now) ?? []) this.#take(step);
    return this.#lanes?.onlyParked ?? (this.#fifo && dueAt !== undefined);
  }

  /** When there may be something to do though nothing is due, Unix ms. */
  nextCheckAt(): number | undefined {
    return this.#lanes?.nextCheckAt();
  }

  /** Whether `prepare` would find more. */
  get mayRecall(): boolean {
    return (this.#lanes?.toRecall.length ?? 0) > 0;
  }

  add(lease: LeasedRecord): void {
    this.#take(this.#lanes?.admit(lease) ?? { ready: lease });
  }

  /** Notes a committed settlement of a record that was out. */
  ended(lease: LeasedRecord, settlement: Settlement): void {
    if (this.#lanes) this.#take(this.#lanes.ended(lease, settlement));
  }

  /** Leaves everything to the next drain over the same store. */
  leave(): void {
    this.list.push(...this.#unsorted.splice(0));
    this.#left = leave(this.#store, this.list, this.#prepared ? this.#lanes : undefined);
  }

  /** The next drain has taken over already: what came since belongs to nobody. */
  orphans(): LeasedRecord[] {
    return this.#left?.taken ? this.list.splice(0) : [];
  }

  /** What an earlier run parked takes its place in the lanes, or waits for others no more. */
  async #learn(): Promise<void> {
    const lanes = this.#lanes;
    if (!lanes) await this.#store.releaseHeld();
    else {
      for (;;) {
        const found = await this.#store.parkedAfter(this.#knownTo, FOUND_TOGETHER);
        const last = found.at(-1);
        if (this.#left || !last) break;
        for (const parked of found) lanes.found(parked);
        this.#knownTo = last.seq;
      }
      if (this.#left) return;
      for (const lease of this.#unsorted.splice(0)) this.#take(lanes.admit(lease));
    }
    this.#prepared = true;
  }

  /** Fetches the next records of lanes that are held in the store. */
  async #recall(): Promise<void> {
    const lanes = this.#lanes;
    if (!lanes) return;
    for (let seqs = lanes.toRecall.shift(); seqs; seqs = lanes.toRecall.shift()) {
      try {
        await Promise.all(seqs.flatMap((seq) => this.#holding.get(seq) ?? []));
        this.#take(lanes.recalled(seqs, await this.#store.leaseParked(seqs)));
      } catch (cause) {
        lanes.toRecall.push(seqs);
        throw cause;
      }
    }
  }

  #take({ ready, hold = [] }: LaneStep): void {
    if (ready) this.list.push(ready);
    for (const { seq } of hold) {
      const held = this.settle({
        ...{ seq, outcome: 'retry', dueAt: HELD },
        ...{ spend: false, unknown: false },
      }).finally(() => this.#holding.delete(seq));
      this.#holding.set(seq, held);
    }
  }
}
