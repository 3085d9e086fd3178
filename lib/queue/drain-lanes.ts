/**
 * Order per key: a record goes out only when every earlier one of its key is done or dead. Its lane belongs to the
 * oldest record of the key (the head), whether that is out for delivery or parked for its next attempt; later ones wait
 * leased in memory, bounded; only heads are ever parked. Those parked by an earlier run have no lane yet: until each of
 * them has come back once, nothing but parked records is leased.
 */
import type { LeasedRecord, Settlement } from './contract';
import { DueOrder } from './due-order';

const MIN_WAITING = 1024;
const MAX_LANES = 10_000;
/** A head overdue by this much that the store doesn't have any more was evicted. */
const OVERDUE_MS = 1000;

interface Lane {
  readonly key: string;
  head: number;
  /** Unix ms of the head's next attempt; undefined while it is out. */
  dueAt: number | undefined;
  readonly waiting: LeasedRecord[];
}

export class DrainLanes {
  readonly #lanes = new Map<string, Lane>();
  readonly #laneOf = new Map<number, Lane>();
  readonly #parkedHeads = new DueOrder();
  readonly #maxWaiting: number;
  #waiting = 0;
  #waitingBytes = 0;
  #strange: number;

  /** `keyName` tells lanes by another key apart; `parkedBefore` = records parked when the queue was opened. */
  constructor(
    readonly keyName: string,
    readonly keyOf: (lease: LeasedRecord) => string,
    maxInFlight: number,
    parkedBefore: number,
  ) {
    this.#maxWaiting = Math.max(MIN_WAITING, 4 * maxInFlight);
    this.#strange = parkedBefore;
  }

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Whether only parked records whose time has come may be leased, one at a time. */
  onlyParked(parkedNow: number): boolean {
    this.#strange = Math.min(this.#strange, Math.max(0, parkedNow - this.#parkedHeads.size));
    return this.#strange > 0 || this.#waiting >= this.#maxWaiting || this.#lanes.size >= MAX_LANES;
  }

  /** Takes in a leased record, `parked` until now or not; true if it may go out, else it waits for its lane. */
  admit(lease: LeasedRecord, parked: boolean): boolean {
    const own = this.#laneOf.get(lease.seq);
    if (own) {
      own.dueAt = undefined;
      this.#parkedHeads.remove(lease.seq);
      return true;
    }
    if (parked && this.#strange > 0) this.#strange -= 1;
    const key = this.keyOf(lease);
    const lane = this.#lanes.get(key);
    if (!lane) {
      this.#lead({ key, head: lease.seq, dueAt: undefined, waiting: [] });
      return true;
    }
    const after = lane.waiting.findIndex(({ seq }) => seq > lease.seq);
    lane.waiting.splice(after < 0 ? lane.waiting.length : after, 0, lease);
    this.#waiting += 1;
    this.#waitingBytes += lease.record.byteLength;
    return false;
  }

  /** Notes a committed settlement; returns the record that may go out now, if one waited for this one. */
  ended(settlement: Settlement): LeasedRecord | undefined {
    const lane = this.#laneOf.get(settlement.seq);
    if (!lane) return undefined;
    if (settlement.outcome !== 'retry') return this.#next(lane);
    lane.dueAt = settlement.dueAt;
    this.#parkedHeads.put(lane.head, settlement.dueAt);
    return undefined;
  }

  /**
   * Records that waited for a parked head which is gone: evicted from the store. `nextDueAt` is the store's; a head
   * that is still there can't be due earlier.
   */
  released(nextDueAt: number | undefined, now: number): LeasedRecord[] {
    const free: LeasedRecord[] = [];
    for (;;) {
      const first = this.#parkedHeads.first();
      if (first === undefined || now < first.dueAt + OVERDUE_MS) return free;
      if (nextDueAt !== undefined && nextDueAt <= first.dueAt) return free;
      this.#parkedHeads.remove(first.id);
      const lane = this.#laneOf.get(first.id);
      const next = lane && this.#next(lane);
      if (next) free.push(next);
    }
  }

  /** Empties the lanes: every record that waits, oldest first. */
  takeWaiting(): LeasedRecord[] {
    const waiting = [...this.#lanes.values()].flatMap((lane) => lane.waiting.splice(0));
    this.#waiting = 0;
    this.#waitingBytes = 0;
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

  #next(lane: Lane): LeasedRecord | undefined {
    this.#laneOf.delete(lane.head);
    const next = lane.waiting.shift();
    if (next === undefined) {
      this.#lanes.delete(lane.key);
      return undefined;
    }
    this.#left(next);
    lane.head = next.seq;
    lane.dueAt = undefined;
    this.#lead(lane);
    return next;
  }

  #left(lease: LeasedRecord): void {
    this.#waiting -= 1;
    this.#waitingBytes -= lease.record.byteLength;
  }
}
