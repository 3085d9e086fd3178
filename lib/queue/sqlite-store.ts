/**
 * The queue store on SQLite, main thread's half: gathers what comes in within one turn of the event loop into one
 * batch for the worker that owns the file, and tells each caller how it ended.
 */
import { join } from 'node:path';
import type { StoreError } from '../errors/errors';
import { Quota } from '../quota/quota';
import { storeError, type Fault } from '../sqlite/faults';
import { WorkerHost } from '../sqlite/worker-host';
import type {
  AppendOptions,
  AppendResult,
  LeasedRecord,
  ListedRecord,
  ParkedRecord,
  QueueStore,
  Recalled,
  Settlement,
} from './contract';
import { CODES } from './sqlite-codes';
import { Health } from './sqlite-health';
import { Turn } from './sqlite-turn';
import {
  readLeases,
  type QueueBatch,
  type QueueHello,
  type QueueReply,
  type QueueState,
  type WorkerOptions,
} from './sqlite-wire';

/**
 * A turn that brings more than this goes to the worker in parts: it writes the first while the next is being gathered, and
 * answers it while it writes that one. Several chunks, so that the commits stay few.
 */
const EARLY_BYTES = 2 ** 20;

const EMPTY: QueueState = {
  records: 0,
  bytes: 0,
  parked: 0,
  dead: 0,
  evictedTotal: 0,
  evictedBytesTotal: 0,
  deadTrimmedTotal: 0,
  oldestStoredAt: undefined,
  nextDueAt: undefined,
};

export interface SqliteStoreOptions {
  readonly file: string;
  /** Unix ms. */
  readonly now?: () => number;
  /** Dead records kept; the oldest are trimmed and counted. */
  readonly maxDead?: number;
  /** How many appends with a key are remembered, at least. */
  readonly maxKeys?: number;
  /** Bytes that may wait for the disk; beyond them `append` rejects with ERR_SLUICE_QUEUE_STALLED. */
  readonly maxWaitingBytes?: number;
  /** How long to wait for another owner of the file, in ms. */
  readonly lockWaitMs?: number;
  /** Free disk space below which `append` rejects with ERR_SLUICE_QUEUE_DISK_LOW; 0, the default: none. */
  readonly minFreeBytes?: number;
  /** Most pages of 16 KB that the file may have. */
  readonly maxPages?: number;
  /** better-sqlite3's binary, where it isn't in its usual place. */
  readonly nativeBinding?: string;
  /** The worker's script, if it is wrapped. */
  readonly workerFile?: string;
}

export type SqliteStore = QueueStore;

/**
 * Opens or creates the file. Rejects with StoreError when it can't be used: ERR_SLUICE_QUEUE_LOCKED, _NEWER, _FOREIGN,
 * _UNWRITABLE, _DISK_FULL, _IO or ERR_SLUICE_NATIVE_MODULE. A damaged file is set aside; `onHealth` tells.
 *
 * A settlement that was rejected is tried again by the store once it works; until then the record stays on lease.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<SqliteStore> {
  const store = new WorkerStore(options);
  await store.start();
  return store;
}

class WorkerStore implements SqliteStore {
  readonly #options: SqliteStoreOptions;
  readonly #now: () => number;
  readonly #host: WorkerHost<QueueBatch, QueueHello, QueueReply>;
  readonly #waiting: Quota;
  #turn: Turn | undefined;
  #state = EMPTY;
  /** Seqs on lease, for a worker that has to be started again. */
  readonly #leased = new Set<number>();
  readonly #unsettled = new Map<number, Settlement>();
  #restarted = false;
  readonly #changeListeners = new Set<() => void>();
  readonly #health = new Health(
    () => this.#probe(),
    () => this.#settleAgain(),
  );
  #closed: Promise<void> | undefined;

  constructor(options: SqliteStoreOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#waiting = new Quota(options.maxWaitingBytes ?? 64 * 2 ** 20);
    this.#host = new WorkerHost({
      script: options.workerFile ?? join(__dirname, 'sqlite-worker.js'),
      file: options.file,
      codes: CODES,
      workerData: () => this.#workerOptions(),
      onHello: ({ state, quarantined }) => {
        this.#state = state;
        this.#restarted = true;
        this.#health.report(quarantined && this.#error(quarantined));
        this.#settleAgain();
        for (const listener of this.#changeListeners) listener();
      },
      onFault: (fault) => this.#health.report(fault),
    });
  }

  start(): Promise<void> {
    return this.#host.start();
  }

  append(record: Uint8Array, options: AppendOptions = {}): Promise<AppendResult> {
    if (this.#closed) return Promise.reject(this.#error({ kind: 'closed', detail: '' }));
    if (!this.#waiting.reserve(record.byteLength)) {
      return Promise.reject(this.#error({ kind: 'stalled', detail: `${this.#waiting.used} bytes wait` }));
    }
    const turn = this.#gather();
    const appended = turn.append(record, options);
    if (turn.bytes >= EARLY_BYTES) this.#flush();
    return appended;
  }

  lease(maxRecords: number, maxBytes: number, maxParked?: number): Promise<LeasedRecord[]> {
    if (this.#closed) return Promise.reject(this.#error({ kind: 'closed', detail: '' }));
    return this.#gather().lease({ maxRecords, maxBytes, maxParked });
  }

  async leaseParked(seqs: readonly number[]): Promise<Recalled> {
    if (this.#closed) throw this.#error({ kind: 'closed', detail: '' });
    const turn = this.#gather();
    const leased = await turn.lease({ maxRecords: seqs.length, maxBytes: Infinity, seqs });
    return { leased, later: turn.later.filter((seq) => seqs.includes(seq)) };
  }

  parkedAfter(seq: number, limit: number): Promise<readonly ParkedRecord[]> {
    if (this.#closed) return Promise.reject(this.#error({ kind: 'closed', detail: '' }));
    return this.#gather().readParked({ afterSeq: seq, limit });
  }

  list(limit: number): Promise<readonly ListedRecord[]> {
    if (this.#closed) return Promise.reject(this.#error({ kind: 'closed', detail: '' }));
    return this.#gather().list(limit);
  }

  releaseHeld(): Promise<void> {
    if (this.#closed) return Promise.reject(this.#error({ kind: 'closed', detail: '' }));
    return this.#gather().releaseHeld();
  }

  settle(settlement: Settlement): Promise<void> {
    if (this.#closed) return Promise.reject(this.#error({ kind: 'closed', detail: '' }));
    this.#unsettled.delete(settlement.seq);
    return this.#gather().settle(settlement);
  }

  counts(): QueueState {
    return this.#state;
  }

  nextDueAt(): number | undefined {
    return this.#state.nextDueAt;
  }

  onChange(listener: () => void): () => void {
    this.#changeListeners.add(listener);
    return () => this.#changeListeners.delete(listener);
  }

  onHealth(listener: (fault: Error | undefined) => void): () => void {
    return this.#health.subscribe(listener);
  }

  close(): Promise<void> {
    if (this.#closed) return this.#closed;
    this.#flush();
    this.#health.stop();
    this.#closed = this.#host.close();
    return this.#closed;
  }

  #workerOptions(): WorkerOptions {
    const { file, maxDead = 50_000, maxKeys = 200_000 } = this.#options;
    const { lockWaitMs, minFreeBytes, maxPages, nativeBinding } = this.#options;
    return {
      file,
      now: this.#now(),
      leased: [...this.#leased],
      restarted: this.#restarted,
      maxDead,
      maxKeys,
      lockWaitMs,
      minFreeBytes,
      maxPages,
      nativeBinding,
    };
  }

  #error(fault: Fault): StoreError {
    return storeError(fault, this.#options.file, CODES);
  }

  #gather(): Turn {
    if (!this.#turn) {
      this.#turn = new Turn();
      setImmediate(() => this.#flush());
    }
    return this.#turn;
  }

  #flush(): void {
    const turn = this.#turn;
    if (!turn) return;
    this.#turn = undefined;
    const { batch, transfer } = turn.pack(this.#now());
    this.#host.request(batch, transfer).then(
      (reply) => this.#answer(turn, reply),
      (reason: unknown) => {
        const error =
          reason instanceof Error ? reason : this.#error({ kind: 'worker', detail: String(reason) });
        this.#waiting.free(turn.bytes);
        this.#keepUnsettled(turn);
        turn.fail(error, error, error);
      },
    );
  }

  #answer(turn: Turn, reply: QueueReply): void {
    this.#waiting.free(turn.bytes);
    this.#state = reply.state;
    const { appendFault, settleFault, quarantined } = reply;
    const appendError = appendFault && this.#error(appendFault);
    const settleError = settleFault && this.#error(settleFault);
    if (settleError) this.#keepUnsettled(turn);
    else for (const seq of turn.settledSeqs()) this.#leased.delete(seq);
    if (appendError || settleError) turn.fail(appendError, settleError, undefined);
    if (!appendError) turn.stored(reply.firstSeq, reply.duplicates ?? []);
    if (!settleError) turn.settled();
    const readError = this.#answerLeases(turn, reply) ?? this.#answerReads(turn, reply);
    const fault = quarantined && this.#error(quarantined);
    const error = fault ?? appendError ?? settleError ?? readError;
    if (error) this.#health.report(error);
    if (turn.writes || fault) for (const listener of this.#changeListeners) listener();
  }

  #answerLeases(turn: Turn, { leases = [], later = [] }: QueueReply): StoreError | undefined {
    turn.later = later;
    let error: StoreError | undefined;
    for (const [index, lease] of leases.entries()) {
      if (lease instanceof ArrayBuffer) {
        const records = readLeases(lease);
        for (const { seq } of records) this.#leased.add(seq);
        turn.leased(index, records);
      } else {
        error = this.#error(lease);
        turn.leaseFailed(index, error);
      }
    }
    return error;
  }

  #answerReads(turn: Turn, { reads = [], lists = [] }: QueueReply): StoreError | undefined {
    let error: StoreError | undefined;
    for (const [index, found] of reads.entries()) {
      if ('kind' in found) turn.readFailed(index, (error = this.#error(found)));
      else turn.found(index, found);
    }
    for (const [index, listed] of lists.entries()) {
      if ('kind' in listed) turn.listFailed(index, (error = this.#error(listed)));
      else turn.listed(index, listed);
    }
    return error;
  }

  #keepUnsettled(turn: Turn): void {
    for (const settlement of turn.settlements()) this.#unsettled.set(settlement.seq, settlement);
  }

  #settleAgain(): void {
    const settlements = [...this.#unsettled.values()];
    this.#unsettled.clear();
    for (const settlement of settlements) {
      // What fails again is kept again.
      this.settle(settlement).catch(() => undefined);
    }
  }

  async #probe(): Promise<StoreError | undefined> {
    const { appendFault } = await this.#host.request({ now: this.#now(), probe: true });
    return appendFault && this.#error(appendFault);
  }
}
