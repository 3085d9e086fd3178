/**
 * What sources and sinks register with the runtime's registry. Nodes implement these; lib/delivery decides with them.
 */

/**
 * Bytes of records that one source has on their way at once, as they are stored. In memory parsed JSON takes about four
 * times as much; a destination that hangs must not let them fill a small device.
 */
export const MAX_BYTES_IN_FLIGHT = 32 * 1024 * 1024;
import type { Account } from './ledger';

/** A reservation made at the door for a record that was admitted and hasn't arrived yet. */
export interface Hold {
  /** Gives the reserved capacity back. Calling it again does nothing. */
  release(): void;
}

export type FullPolicy = 'block' | 'evict_oldest';

/** Counters and level of one sink, as `GET /sluice/api/status` shows them. */
export interface SinkStatus {
  readonly level: 'ok' | 'high' | 'full';
  /** records lost */
  readonly dropped: number;
  /** records refused, kept by their origin */
  readonly blocked: number;
  readonly delivered: number;
  readonly [field: string]: unknown;
}

/** A record that waits in a queue, as `GET /sluice/queues/{id}/records` shows it. */
export interface WaitingRecord {
  /** `queued`, `out` for delivery, or `parked` until its next try. */
  readonly state: 'queued' | 'out' | 'parked';
  readonly age_secs: number;
  /** Deliveries tried so far. */
  readonly attempts: number;
  readonly bytes: number;
  /** What tells it from others without its payload: ids, topic, account and the like. */
  readonly [field: string]: unknown;
}

/** A node that takes custody of a record: it stores it, or its destination confirmed it. */
export interface Sink {
  readonly id: string;
  /** Shown in refusals and status: the node's name, else a short word for its type (`push`, `rest`, …). */
  readonly name: string;
  readonly type: string;
  /** The tab or subflow instance it lives on. */
  readonly z: string;
  readonly policy: FullPolicy;
  /** Most records that go to the destination together; 1 without it. What feeds it keeps two of them out. */
  readonly batch?: number;
  /** Whether a record of this size would be taken now, holds included. Never the alert level. */
  canTake(bytes: number, records: number): boolean;
  /** Reserves room for an admitted record; the sink's input gives it back when the record arrives. */
  hold(bytes: number, records: number): Hold;
  /** Whole seconds after which a refused origin should come back. */
  retryAfterSecs(): number;
  /** Counts a record refused at the door on this sink's account. */
  countBlocked(records: number): void;
  status(): SinkStatus;
  /** The oldest `limit` records that wait, with their messages only if asked, and how many there are. */
  waiting?(
    limit: number,
    withPayload: boolean,
  ): Promise<{ readonly records: readonly WaitingRecord[]; readonly total: number }>;
}

/** A node that admits records and owes their origin a verdict. */
export interface Source {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly z: string;
  /** Entries are admitted against the sinks they reach; a push-queue's output is not an entry. */
  readonly entry: boolean;
  /**
   * Whether it has further records to send now. A sink that gathers batches needn't wait for company from one that hasn't;
   * of one that can't tell, it waits for more.
   */
  hasMore?(): boolean;
  /** Per-source counters for the status document. */
  status(): Readonly<Record<string, unknown>>;
  /** Its ledger, where it can keep one. */
  account?(): Account;
  /** Called before Node-RED stops flows (any deploy type) and after they run again. */
  pause(): void;
  resume(): void;
}
