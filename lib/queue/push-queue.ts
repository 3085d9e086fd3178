/**
 * A queue store with a bound, a policy and counters: the sink half of a push queue.
 *
 * Invariant: `quota.used` = bytes the store has committed + bytes on their way to it. Room for a record is taken in the
 * same turn in which it is offered, before the store sees it, so a burst can't overshoot (O13); what the store frees is
 * given back when it says so. A producer hears of success only after the commit.
 */
import { Alarm } from '../alert/alarm';
import type { FullPolicy, Hold, Sink, SinkStatus, WaitingRecord } from '../delivery/contract';
import { refusalRetrySecs } from '../delivery/retry';
import { EMPTY_ACCOUNT, type Account } from '../delivery/ledger';
import type { DeliveryError } from '../errors/errors';
import type { QueueReading } from '../metrics/queue-gauges';
import { Quota } from '../quota/quota';
import { AppendWindow } from './append-window';
import type { AppendResult, QueueStore } from './contract';
import { tallyOf } from './tally';
import { waitingRecord } from './waiting-records';
import { FlowRate, secsToFull } from './flow-rate';
import { refusedByQueue, type QueueRefusal } from './push-queue-refusals';
import { statusOfQueue } from './push-queue-status';

/** What a refused origin waits while the file is being opened, or has failed. */
const OPENING_SECS = 1;
const FAILED_SECS = 30;
/** Nothing was delivered lately: how long it takes can't be known, and asking often doesn't help. */
const STALLED_MS = 10_000;

export interface PushQueueOptions {
  /** The node's id, its name (else `push`), type and tab or subflow instance. */
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly z: string;
  /** What its file is called; the node's own name without it. */
  readonly queue?: string;
  readonly policy: FullPolicy;
  /** Bound of the stored bytes; 0 = none, only with `evict_oldest`. */
  readonly quotaBytes: number;
  readonly now?: () => number;
  readonly random?: () => number;
  /** Records that were deleted for room. */
  readonly onEvicted?: (records: number) => void;
  /** Dead letters that were deleted for room, oldest first. */
  readonly onTrimmed?: (records: number) => void;
  /** An append that failed; its producer got the same error. */
  readonly onWriteError?: (error: Error) => void;
  /** Open dead letters of this queue, beside those in its own file. */
  readonly deadLetters?: () => number;
  /** The file or its worker failed, or (`undefined`) works again. */
  readonly onHealth?: (fault: Error | undefined) => void;
}

export interface Offer {
  /** Idempotency key and since when it counts, as the store has them. */
  readonly key?: string | undefined;
  readonly keySince?: number | undefined;
  /**
   * A flow sent back a record that this queue delivered. It is exempt from the quota, or a full queue would hold itself
   * up. Its predecessor stays until its own verdict, for another branch of the flow may still fail; should it be
   * delivered again, the key makes the second copy a duplicate.
   */
  readonly sentBack?: boolean;
}

export class PushQueue implements Sink {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly z: string;
  readonly policy: FullPolicy;
  readonly quotaBytes: number;
  readonly #options: PushQueueOptions;
  readonly #quota: Quota;
  readonly #now: () => number;
  readonly #inflow: FlowRate;
  readonly #outflow: FlowRate;
  /** For the alert centre. */
  readonly alarm: Alarm;
  #store: QueueStore | undefined;
  #detach: () => void = () => undefined;
  #fault: Error | undefined = refusedByQueue('ERR_SLUICE_QUEUE_OPENING');
  #failed = false;
  readonly #window = new AppendWindow();
  #evictedSeen = 0;
  #trimmedSeen = 0;
  /** Since this node started; the store's own total goes back to its first record. */
  #evictedHere = 0;
  #blocked = 0;
  /** Of these, refused before the file was open: every deploy under load has some, and none is a full queue. */
  #blockedEarly = 0;
  #stored = 0;
  #delivered = 0;
  #writeErrors = 0;
  /** Bytes of the last record there was no room for. */
  #wanted = 0;

  constructor(options: PushQueueOptions) {
    this.#options = options;
    ({
      id: this.id,
      name: this.name,
      type: this.type,
      z: this.z,
      policy: this.policy,
      quotaBytes: this.quotaBytes,
    } = options);
    this.#now = options.now ?? Date.now;
    this.#quota = new Quota(options.quotaBytes > 0 ? options.quotaBytes : Number.POSITIVE_INFINITY);
    this.#inflow = new FlowRate(this.#now);
    this.#outflow = new FlowRate(this.#now);
    this.alarm = new Alarm(
      () =>
        // Before the store is there, the queue only looks empty.
        this.#store && {
          used: this.#quota.used,
          limit: this.quotaBytes,
          refusedOrEvicted: this.#blocked - this.#blockedEarly + this.#evictedHere,
        },
    );
  }

  /** Why records are refused now whatever their size: not opened yet, or a failed file or worker. */
  get fault(): Error | undefined {
    return this.#fault;
  }

  /** Starts to use a store; what it holds counts against the quota. */
  attach(store: QueueStore): void {
    this.#store = store;
    this.#failed = false;
    this.#fault = undefined;
    this.#evictedSeen = store.counts().evictedTotal;
    // From now on, though nothing has happened yet: what is in it is carried over.
    tallyOf(store);
    this.#trimmedSeen = store.counts().deadTrimmedTotal;
    const removals = [
      store.onChange(() => this.#sync()),
      store.onHealth((fault) => {
        this.#fault = fault;
        this.#options.onHealth?.(fault);
      }),
    ];
    this.#detach = () => removals.forEach((remove) => remove());
    this.#sync();
  }

  /** Refuses every record with this error until `attach`: the store can't be opened, or the node is closing. */
  fail(fault: Error): void {
    this.#failed = true;
    this.#fault = fault;
  }

  /** Resolves when every record offered so far is committed or refused; then the store may be closed or handed on. */
  async detach(): Promise<void> {
    await this.#window.empty();
    this.#detach();
  }

  /**
   * Takes custody of a record. Resolves after its commit. Rejects with a transient DeliveryError
   * `ERR_SLUICE_QUEUE_FULL` or `ERR_SLUICE_QUEUE_WRITER_FULL` when there is no room, or with the store's own error:
   * then nothing is stored and the caller still owns the record.
   */
  async offer(record: Uint8Array, { key, keySince, sentBack = false }: Offer = {}): Promise<AppendResult> {
    const store = this.#store;
    if (this.#fault !== undefined || store === undefined)
      throw this.#fault ?? refusedByQueue('ERR_SLUICE_QUEUE_OPENING');
    const bytes = record.byteLength;
    if (!this.#window.canTake(bytes, 1)) throw this.#refuse('ERR_SLUICE_QUEUE_WRITER_FULL', bytes);
    if (this.policy === 'block' && !sentBack) {
      if (!this.#quota.reserve(bytes)) throw this.#refuse('ERR_SLUICE_QUEUE_FULL', bytes);
    } else {
      this.#quota.take(bytes);
    }
    const evicts = this.policy === 'evict_oldest' && this.quotaBytes > 0 && !sentBack;
    const append = store.append(record, {
      ...(key === undefined ? {} : { key }),
      ...(keySince === undefined ? {} : { keySince }),
      ...(evicts ? { evictDownTo: this.quotaBytes } : {}),
    });
    try {
      const result = await this.#window.follow(bytes, append);
      if (!result.duplicate) {
        this.#stored += 1;
        tallyOf(store).tally.accepted += 1;
        this.#inflow.add(bytes);
      }
      return result;
    } catch (cause) {
      const error = cause instanceof Error ? cause : new Error(String(cause));
      this.#writeErrors += 1;
      this.#options.onWriteError?.(error);
      throw error;
    } finally {
      this.#sync();
    }
  }

  canTake(bytes: number, records: number): boolean {
    if (this.#fault !== undefined || !this.#window.canTake(bytes, records)) return false;
    if (this.policy === 'evict_oldest' || this.#quota.canTake(bytes)) return true;
    this.#wanted = bytes;
    return false;
  }

  hold(bytes: number, _records: number): Hold {
    return this.#quota.hold(bytes);
  }

  retryAfterSecs(): number {
    if (this.#fault !== undefined) return this.#failed || this.#store ? FAILED_SECS : OPENING_SECS;
    const over = this.#quota.used + this.#quota.held + this.#wanted - this.quotaBytes;
    const rate = this.#outflow.bytesPerSec();
    const drainMs = over <= 0 ? 0 : rate > 0 ? (over / rate) * 1000 : STALLED_MS;
    return refusalRetrySecs(drainMs, this.#options.random ?? Math.random);
  }

  countBlocked(records: number): void {
    this.#blocked += records;
    if (this.#store === undefined) this.#blockedEarly += records;
  }

  /** Counts a record that left by delivery; its size tells how fast the queue empties. */
  countDelivered(bytes: number): void {
    this.#delivered += 1;
    this.#outflow.add(bytes);
    if (this.#store) tallyOf(this.#store).tally.delivered += 1;
  }

  /** Counts a record that left for the dead letters. */
  countDead(): void {
    if (this.#store) tallyOf(this.#store).tally.dead += 1;
  }

  /** The oldest records, for the admin API. Rejects with StoreError while the file can't be read. */
  async waiting(
    limit: number,
    withPayload: boolean,
  ): Promise<{ readonly records: readonly WaitingRecord[]; readonly total: number }> {
    const store = this.#store;
    if (!store) return { records: [], total: 0 };
    const listed = await store.list(limit);
    const records = listed.map((record) => waitingRecord(record, this.#now(), withPayload));
    return { records, total: store.counts().records };
  }

  /** The ledger of its records; `inFlight` of them are out for delivery. */
  account(inFlight: number): Account {
    if (!this.#store) return EMPTY_ACCOUNT;
    const { tally, evictedBefore } = tallyOf(this.#store);
    const { records, evictedTotal } = this.#store.counts();
    const out = Math.min(records, inFlight);
    const evicted = evictedTotal - evictedBefore;
    return { ...EMPTY_ACCOUNT, ...tally, evicted, in_flight: out, queued: records - out };
  }

  /** Of its file. */
  get state(): 'opening' | 'open' | 'failed' {
    if (this.#fault === undefined) return 'open';
    return this.#store === undefined && !this.#failed ? 'opening' : 'failed';
  }

  /** For the queue gauges of the metrics. */
  reading(): QueueReading {
    const counts = this.#store?.counts();
    return {
      bytes: this.#quota.used,
      maxBytes: this.quotaBytes,
      records: counts?.records ?? 0,
      level: this.alarm.level,
      oldestStoredAt: counts?.oldestStoredAt,
      secsToFull: this.#secsToFull(),
    };
  }

  status(): SinkStatus {
    return statusOfQueue({
      queue: this.#options.queue ?? this.name,
      policy: this.policy,
      quotaBytes: this.quotaBytes,
      usedBytes: this.#quota.used,
      level: this.alarm.level,
      secsToFull: this.#secsToFull(),
      counts: this.#store?.counts(),
      deadElsewhere: this.#options.deadLetters?.() ?? 0,
      fault: this.#fault,
      state: this.state,
      blocked: this.#blocked,
      stored: this.#stored,
      delivered: this.#delivered,
      writeErrors: this.#writeErrors,
      now: this.#now(),
    });
  }

  /** At the rates of the last half minute; undefined while it isn't filling up, or has no bound. */
  #secsToFull(): number | undefined {
    if (this.quotaBytes <= 0) return undefined;
    const room = this.quotaBytes - this.#quota.used;
    return secsToFull(room, this.#inflow.bytesPerSec(), this.#outflow.bytesPerSec());
  }

  #refuse(code: QueueRefusal, bytes: number): DeliveryError {
    this.#wanted = bytes;
    this.countBlocked(1);
    return refusedByQueue(code, this.retryAfterSecs() * 1000);
  }

  #sync(): void {
    const counts = this.#store?.counts();
    if (counts === undefined) return;
    const used = counts.bytes + this.#window.bytes;
    if (used > this.#quota.used) this.#quota.take(used - this.#quota.used);
    else this.#quota.free(this.#quota.used - used);
    const trimmed = counts.deadTrimmedTotal - this.#trimmedSeen;
    this.#trimmedSeen = counts.deadTrimmedTotal;
    if (trimmed > 0) this.#options.onTrimmed?.(trimmed);
    const evicted = counts.evictedTotal - this.#evictedSeen;
    if (evicted <= 0) return;
    this.#evictedSeen = counts.evictedTotal;
    this.#evictedHere += evicted;
    this.#options.onEvicted?.(evicted);
  }
}
