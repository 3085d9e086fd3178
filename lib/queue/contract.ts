/**
 * The durable queue's contract. Every store (SQLite, memory, later JetStream) passes one conformance suite,
 * `test/contract/queue-store.suite.ts`.
 *
 * Sequence numbers (`seq`) are positive integers, given in order of commit and never reused, across restarts too.
 * A record is in exactly one state: queued, leased (`close` returns it to where it was, a crash parks it, due at once),
 * parked (waiting for its due time) or dead. `bytes` always counts the stored record, not the file.
 */
export interface AppendOptions {
  /**
   * Idempotency key, <= 64 bytes: a second append of a remembered key stores nothing and reports `duplicate`. A key is
   * remembered while its record is stored and after it was delivered, not once it was evicted or given up as dead.
   */
  readonly key?: string;
  /** Unix ms: a key that was stored before doesn't count; this append then takes its place. */
  readonly keySince?: number;
  /** Largest total of queued bytes; with it the store evicts the oldest unleased records in the same transaction. */
  readonly evictDownTo?: number;
}

export interface AppendResult {
  readonly seq: number;
  readonly duplicate: boolean;
}

/**
 * Due time of a parked record that waits for another record, not for a time: it is given out by `leaseParked` only, or
 * after `releaseHeld`.
 */
export const HELD = Number.MAX_SAFE_INTEGER;

/** A record that was out this often when the process ended is taken for the cause. */
export const MAX_CRASHES = 3;

/** Parked records given out in a row before it is a queued one's turn, with `maxParked`. */
export const PARKED_IN_A_ROW = 3;

export interface LeasedRecord {
  readonly seq: number;
  /** Attempts already spent on it, 0 for a record that was never delivered. */
  readonly attempts: number;
  /** Consecutive deliveries that ended unknown. */
  readonly unknowns: number;
  /** How often in a row the process ended while it was out. From MAX_CRASHES on it must not be sent again. */
  readonly crashes: number;
  /** Unix ms of the append. */
  readonly storedAt: number;
  readonly record: Uint8Array;
}

/** A parked record as it lies in the store. */
export interface ParkedRecord {
  readonly seq: number;
  /** Unix ms, or HELD. */
  readonly dueAt: number;
  readonly record: Uint8Array;
}

/** A record that isn't delivered or dead, as it is shown to an operator. */
export interface ListedRecord {
  readonly seq: number;
  /** `out` for delivery, whether it was queued or parked before. */
  readonly state: 'queued' | 'out' | 'parked';
  /** Unix ms of the append. */
  readonly storedAt: number;
  readonly attempts: number;
  readonly record: Uint8Array;
}

/** What `leaseParked` could give out; what is in neither list is gone. */
export interface Recalled {
  readonly leased: readonly LeasedRecord[];
  /**
   * The rest from the first on that may not be out beside what is out now (see MAX_CRASHES). That one is due at once
   * from now on, so that `lease` gives it out.
   */
  readonly later: readonly number[];
}

/** What became of a leased record. */
export type Settlement =
  | { readonly seq: number; readonly outcome: 'done' }
  /** Deliver again at `dueAt` (Unix ms, or HELD); `spend: false` for a refusal, which costs no attempt. */
  | {
      readonly seq: number;
      readonly outcome: 'retry';
      readonly dueAt: number;
      readonly spend: boolean;
      readonly unknown: boolean;
    }
  | {
      readonly seq: number;
      readonly outcome: 'dead';
      readonly reason: string;
      readonly code: string;
      /** The runtime's dead letters have it: it is deleted here, and its key forgotten. */
      readonly kept?: boolean;
    };

export interface QueueCounts {
  /** Records not yet delivered or dead: queued, leased and parked. */
  readonly records: number;
  readonly bytes: number;
  readonly parked: number;
  readonly dead: number;
  /** Dead records deleted for room, oldest first. */
  readonly deadTrimmedTotal: number;
  readonly evictedTotal: number;
  readonly evictedBytesTotal: number;
  /** Unix ms of the oldest undelivered record, if any. */
  readonly oldestStoredAt: number | undefined;
}

export interface QueueStore {
  /** Resolves once the record is durable. Rejects with StoreError; then nothing of it is stored. */
  append(record: Uint8Array, options?: AppendOptions): Promise<AppendResult>;
  /**
   * Oldest first, parked records whose time has come before queued ones; may return fewer, or none. While there are
   * queued ones, at most `maxParked` parked ones are on lease, and about every fourth record given out is a queued one:
   * so that a failing destination leaves room for the others, whether it fails slowly or at once.
   */
  lease(maxRecords: number, maxBytes: number, maxParked?: number): Promise<LeasedRecord[]>;
  /** Gives out these parked records, whatever their due time, in the order asked for. */
  leaseParked(seqs: readonly number[]): Promise<Recalled>;
  /** Parked records that aren't on lease, oldest first, from after this seq on; nothing is given out. May return fewer. */
  parkedAfter(seq: number, limit: number): Promise<readonly ParkedRecord[]>;
  /** Held records wait for nothing any more: they are due with the last of the other parked ones. */
  releaseHeld(): Promise<void>;
  /** Resolves once durable. A seq that isn't leased is ignored. */
  settle(settlement: Settlement): Promise<void>;
  /** The oldest records, at most `limit` and as many as make up 8 MB; none of them is given out by that. */
  list(limit: number): Promise<readonly ListedRecord[]>;
  /** Counters as of the last commit; synchronous, costs nothing. */
  counts(): QueueCounts;
  /** Unix ms of the earliest parked record that isn't held, if any. */
  nextDueAt(): number | undefined;
  /** Listener for committed changes that freed bytes or made a record leasable. Returns its removal. */
  onChange(listener: () => void): () => void;
  /** Listener for a failed worker or file: `undefined` when it works again. Returns its removal. */
  onHealth(listener: (fault: Error | undefined) => void): () => void;
  /** Waits for what was appended and settled before, then lets go of the file. */
  close(): Promise<void>;
}
