/**
 * Order per key: a record goes out only when every earlier one of its key is done or dead. Its lane belongs to the
 * oldest record of the key (the head). While the head is out, later ones wait leased in memory, bounded. Once it has
 * failed and is parked, they are parked too, held: they wait in the store until the head is through, so that a key
 * which fails takes no room from the others.
 *
 * Everything parked has its place in a lane: what an earlier run left is told with `found`, oldest first, before
 * anything else goes out. Pure bookkeeping: the steps it returns are taken by the drain.
 */
import { HELD, type LeasedRecord, type ParkedRecord, type Recalled, type Settlement } from './contract';
import { DueOrder } from './due-order';

const MIN_WAITING = 1024;
const MAX_LANES = 10_000;
/** Records held in the store; beyond them nothing new is leased. Each costs memory for its number only. */
const MAX_HELD = 50_000;
/** Held records of a lane that are fetched together. */
const RECALLED_TOGETHER = 16;
/** A head overdue by this much that the store doesn't have any more was evicted. */
const OVERDUE_MS = 1000;

interface Lane {
  readonly key: string;
  head: number;
  /** The head, while it may be out. */
  out: LeasedRecord | undefined;
  /** Unix ms of the head's next attempt; undefined while it is out or being fetched. */
  dueAt: number | undefined;
  /** Leased, by seq. */
  waiting: LeasedRecord[];
  /** Seqs of those held in the store, ascending. */
  held: number[];
}

/** What has to be done next. */
export interface LaneStep {
  /** May go out. */
  readonly ready?: LeasedRecord;
  /** To be parked, held. */
  readonly hold?: readonly LeasedRecord[];
}

export class DrainLanes {
  readonly #lanes = new Map<string, Lane>();
  readonly #laneOf = new Map<number, Lane>();
  readonly #parkedHeads = new DueOrder();
  readonly #maxWaiting: number;
  #waiting = 0;
  #waitingBytes = 0;
  readonly #heldSeqs = new Set<number>();
  /** Records to be fetched from the store, a lane's next ones each, and told with `recalled`. */
  readonly toRecall: (readonly number[])[] = [];

  /** `keyName` tells lanes by another key apart. */
  constructor(
    readonly keyName: string,
    readonly keyOf: (lease: Pick<LeasedRecord, 'seq' | 'record'>) => string,
    maxInFlight: number,
  ) {
    this.#maxWaiting = Math.max(MIN_WAITING, 4 * maxInFlight);
  }

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Whether only parked records whose time has come may be leased, one at a time. */
  get onlyParked(): boolean {
    return (
      this.#waiting >= this.#maxWaiting || this.#heldSeqs.size >= MAX_HELD || this.#lanes.size >= MAX_LANES
    );
  }

  /** A parked record of an earlier run. */
  found({ seq, dueAt, record }: ParkedRecord): void {
    const key = this.keyOf({ seq, record });
    const lane = this.#lanes.get(key);
    if (lane) {
      if (lane.head !== seq) this.#hold(lane, [seq]);
      return;
    }
    const alone: Lane = { key, head: seq, out: undefined, dueAt: undefined, waiting: [], held: [] };
    this.#lead(alone);
    if (dueAt === HELD) this.toRecall.push([seq]);
    else this.#await(alone, dueAt);
  }

  /** Takes in a leased record: it goes out, waits for its lane, or is to be held. */
  admit(lease: LeasedRecord): LaneStep {
    const own = this.#laneOf.get(lease.seq);
    if (own) {
      own.out = lease;
      own.dueAt = undefined;
      this.#parkedHeads.remove(lease.seq);
      return { ready: lease };
    }
    const key = this.keyOf(lease);
    const lane = this.#lanes.get(key);
    if (!lane) {
      this.#lead({ key, head: lease.seq, out: lease, dueAt: undefined, waiting: [], held: [] });
      return { ready: lease };
    }
    if (lane.dueAt === undefined && lease.seq < (lane.held[0] ?? Infinity)) {
      this.#wait(lane, lease);
      return {};
    }
    this.#hold(lane, [lease.seq]);
    return { hold: [lease] };
  }

  /** Records of one lane: one of them may go out at most. */
  #admitAll(leases: readonly LeasedRecord[]): LaneStep {
    const steps = leases.map((lease) => this.admit(lease));
    const ready = steps.find((step) => step.ready)?.ready;
    return { ...(ready && { ready }), hold: steps.flatMap(({ hold = [] }) => hold) };
  }

  /** Notes a committed settlement of a record that was out. */
  ended(lease: LeasedRecord, settlement: Settlement): LaneStep {
    const lane = this.#laneOf.get(settlement.seq);
    // Due at once, it may have been given out again before its settlement was heard of.
    if (lane?.out !== lease) return {};
    if (settlement.outcome !== 'retry') return this.#next(lane);
    this.#await(lane, settlement.dueAt);
    const hold = this.#stopWaiting(lane);
    this.#hold(
      lane,
      hold.map(({ seq }) => seq),
    );
    return { hold };
  }

  /** What came of one of `toRecall`: records that are gone were evicted. */
  recalled(seqs: readonly number[], { leased, later }: Recalled): LaneStep {
    const lane = this.#laneOf.get(seqs[0] ?? 0);
    // The first may have gone out meanwhile, for its time had come: the others come after it, or after what followed it.
    if (!lane) return this.#admitAll(leased);
    if (lane.out) {
      for (const lease of leased) this.#wait(lane, lease);
      this.#hold(lane, later);
      return {};
    }
    const [next, ...rest] = seqs.filter(
      (seq) => later.includes(seq) || leased.some((lease) => lease.seq === seq),
    );
    for (const lease of leased) if (lease.seq !== next) this.#wait(lane, lease);
    this.#hold(
      lane,
      rest.filter((seq) => later.includes(seq)),
    );
    if (next === undefined) return this.#next(lane);
    this.#laneOf.delete(lane.head);
    lane.head = next;
    this.#lead(lane);
    const ready = leased.find(({ seq }) => seq === next);
    lane.out = ready;
    if (ready) return { ready };
    this.#await(lane, 0);
    return {};
  }

  /**
   * Steps for parked heads that are gone: evicted from the store. `nextDueAt` is the store's; a head that is still there
   * can't be due earlier.
   */
  released(nextDueAt: number | undefined, now: number): LaneStep[] {
    const steps: LaneStep[] = [];
    for (;;) {
      const first = this.#parkedHeads.first();
      if (first === undefined || now < first.dueAt + OVERDUE_MS) return steps;
      if (nextDueAt !== undefined && nextDueAt <= first.dueAt) return steps;
      this.#parkedHeads.remove(first.id);
      const lane = this.#laneOf.get(first.id);
      if (lane) steps.push(this.#next(lane));
    }
  }

  /** Empties the lanes: every record that waits in memory, oldest first. */
  takeWaiting(): LeasedRecord[] {
    const waiting = [...this.#lanes.values()].flatMap((lane) => this.#stopWaiting(lane));
    return waiting.sort((a, b) => a.seq - b.seq);
  }

  /** When `released` may find something, if at all. */
  nextCheckAt(): number | undefined {
    const first = this.#parkedHeads.first();
    return first && first.dueAt + OVERDUE_MS;
  }

  #lead(lane: Lane): void {
    this.#lanes.set(lane.key, lane);
    this.#laneOf.set(lane.head, lane);
  }

  #await(lane: Lane, dueAt: number): void {
    lane.dueAt = dueAt;
    this.#parkedHeads.put(lane.head, dueAt);
  }

  /** The head is through: the next one, in memory or in the store. */
  #next(lane: Lane): LaneStep {
    this.#laneOf.delete(lane.head);
    lane.dueAt = undefined;
    lane.out = undefined;
    const [first = Infinity] = lane.held;
    const next = lane.waiting[0];
    if (next && next.seq < first) {
      lane.waiting.shift();
      this.#left(next);
      lane.head = next.seq;
      lane.out = next;
      this.#lead(lane);
      return { ready: next };
    }
    if (first === Infinity) {
      this.#lanes.delete(lane.key);
      return {};
    }
    const recall = lane.held.splice(0, RECALLED_TOGETHER);
    for (const seq of recall) this.#heldSeqs.delete(seq);
    lane.head = first;
    this.#lead(lane);
    this.toRecall.push(recall);
    return {};
  }

  #hold(lane: Lane, seqs: readonly number[]): void {
    for (const seq of seqs) {
      // It may be known already, and have been given out because its time had come.
      if (this.#heldSeqs.has(seq)) continue;
      this.#heldSeqs.add(seq);
      const isLast = (lane.held.at(-1) ?? 0) < seq;
      lane.held.push(seq);
      if (!isLast) lane.held.sort((a, b) => a - b);
    }
  }

  #wait(lane: Lane, lease: LeasedRecord): void {
    const after = lane.waiting.findIndex(({ seq }) => seq > lease.seq);
    lane.waiting.splice(after < 0 ? lane.waiting.length : after, 0, lease);
    this.#waiting += 1;
    this.#waitingBytes += lease.record.byteLength;
  }

  #stopWaiting(lane: Lane): LeasedRecord[] {
    const { waiting } = lane;
    lane.waiting = [];
    for (const lease of waiting) this.#left(lease);
    return waiting;
  }

  #left(lease: LeasedRecord): void {
    this.#waiting -= 1;
    this.#waitingBytes -= lease.record.byteLength;
  }
}
