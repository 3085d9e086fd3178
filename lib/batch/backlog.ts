import type { FullPolicy, Hold } from '../delivery/contract';
import { Quota } from '../quota/quota';

/**
 * The records that wait in a sink, oldest first, within a bound of `maxRecords`. What was taken from it may go on
 * counting: until `free`, its room isn't given to others.
 */
export class Backlog<Waiting> {
  readonly #waiting = new Set<Waiting>();
  readonly #room: Quota;

  constructor(
    private readonly policy: FullPolicy,
    readonly maxRecords: number,
  ) {
    this.#room = new Quota(maxRecords);
  }

  /** Records waiting. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Records that count: waiting, or taken and not freed. */
  get used(): number {
    return this.#room.used;
  }

  get oldest(): Waiting | undefined {
    const [oldest] = this.#waiting;
    return oldest;
  }

  /** Whether a new record has room, or may have that of an older one. */
  canTake(records: number): boolean {
    return this.#evicts ? true : this.#room.canTake(records);
  }

  hold(records: number): Hold {
    return this.#room.hold(records);
  }

  /** Whether there is room for one more; where the policy makes room, `evict` gets what had to go. */
  reserve(evict: (evicted: Waiting) => void): boolean {
    if (!this.#evicts) return this.#room.reserve(1);
    while (this.used >= this.maxRecords && this.size > 0) {
      for (const oldest of this.take(1)) evict(oldest);
      this.free(1);
    }
    this.#room.take(1);
    return true;
  }

  /** Adds a record that room was reserved for. */
  add(waiting: Waiting): void {
    this.#waiting.add(waiting);
  }

  /** Removes the oldest, as long as `wants` says so. */
  takeWhile(wants: (next: Waiting) => boolean): Waiting[] {
    const taken: Waiting[] = [];
    for (const waiting of this.#waiting) {
      if (!wants(waiting)) break;
      this.#waiting.delete(waiting);
      taken.push(waiting);
    }
    return taken;
  }

  /** Removes up to `records` of the oldest. */
  take(records: number): Waiting[] {
    let left = records;
    return this.takeWhile(() => left-- > 0);
  }

  /** Gives back the room of records that were taken. */
  free(records: number): void {
    this.#room.free(records);
  }

  /** What was taken can't be evicted: it is on its way, and its outcome may be unknown. */
  get #evicts(): boolean {
    return this.policy === 'evict_oldest' && (this.size > 0 || this.used < this.maxRecords);
  }
}
