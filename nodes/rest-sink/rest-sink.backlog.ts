import type { FullPolicy, Hold } from '#lib/delivery/contract';
import type { DeliveryError } from '#lib/errors/errors';
import { Quota } from '#lib/quota/quota';
import type { Answer } from './rest-sink.client';
import type { EncodedPayload } from './rest-sink.request';

export interface RestRecord extends EncodedPayload {
  /** Idempotency key, the same on every retry. */
  readonly deliveryId: string;
  /** Name of the source it came from, for the count of refusals. */
  readonly source: string;
}

/** A record in the backlog, with what settles it. */
export interface Waiting {
  readonly record: RestRecord;
  /** Monotonic milliseconds. */
  readonly since: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: DeliveryError) => void;
}

/** The records that wait for a request, oldest first, never more than `maxRecords`. */
export class Backlog {
  readonly #waiting = new Set<Waiting>();
  readonly #room: Quota;

  constructor(
    private readonly policy: FullPolicy,
    readonly maxRecords: number,
  ) {
    this.#room = new Quota(maxRecords);
  }

  get size(): number {
    return this.#waiting.size;
  }

  get oldest(): Waiting | undefined {
    const [oldest] = this.#waiting;
    return oldest;
  }

  /** A backlog that evicts always takes a record. */
  canTake(records: number): boolean {
    return this.policy === 'evict_oldest' || this.#room.canTake(records);
  }

  hold(records: number): Hold {
    return this.#room.hold(records);
  }

  /** Whether there is room for one more; where the policy makes room, `evict` gets what had to go. */
  reserve(evict: (evicted: Waiting) => void): boolean {
    if (this.policy === 'block') return this.#room.reserve(1);
    while (this.size >= this.maxRecords) for (const oldest of this.take(1)) evict(oldest);
    this.#room.take(1);
    return true;
  }

  /** Adds a record that room was reserved for. */
  add(waiting: Waiting): void {
    this.#waiting.add(waiting);
  }

  /** Removes up to `records` of the oldest and gives their room back. */
  take(records: number): Waiting[] {
    const taken: Waiting[] = [];
    for (const waiting of this.#waiting) {
      if (taken.length >= records) break;
      this.#waiting.delete(waiting);
      taken.push(waiting);
    }
    this.#room.free(taken.length);
    return taken;
  }
}
