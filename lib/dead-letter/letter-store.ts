/** The dead-letter store on SQLite, main thread's half: one batch per turn of the event loop for the worker. */
import { join } from 'node:path';
import { STAGES } from '../errors/stages';
import { Quota } from '../quota/quota';
import { storeError, type Fault } from '../sqlite/faults';
import { WorkerHost } from '../sqlite/worker-host';
import { CommitTurn } from './commit-turn';
import {
  PIPELINE,
  type DeadLetterStore,
  type Halt,
  type LastReplay,
  type Letter,
  type LetterFilter,
  type LetterState,
  type LetterWithRecord,
  type NewLetter,
  type Parked,
  type PlaceCounts,
  type PlaceQuota,
} from './contract';
import { withoutDerived } from './shown-payload';
import { DLQ_FAULT_CODES } from './store-codes';
import type { Batch, ChangeOp, Hello, PlaceState, ReadBatch, Reply, WorkerOptions } from './wire';

const MB = 2 ** 20;
const NOTHING: PlaceCounts = { open: 0, closed: 0, bytes: 0, trimmedOpenTotal: 0, trimmedTotal: 0 };
/** As the documents have them (O66, O78). */
const PIPELINE_QUOTA: PlaceQuota = { maxRows: 100_000, maxBytes: 1000 * MB };
const PUSH_QUOTA: PlaceQuota = { maxRows: 50_000, maxBytes: 1000 * MB };
/** What may wait for the disk; records that fail beyond it stay with their origin. */
const MAX_WAITING_BYTES = 128 * MB;

export interface LetterStoreOptions {
  readonly dataDir: string;
  /** Unix ms. */
  readonly now: () => number;
  /** Told of open letters that were deleted for room: they are lost. */
  readonly onTrimmed?: (place: string, records: number) => void;
  /** Most pages (of 16 KB) the file may have; the disk is the limit without it. */
  readonly maxPages?: number;
  readonly maxWaitingBytes?: number;
  /** Path of better-sqlite3's binary, where it isn't in its usual place. */
  readonly nativeBinding?: string;
  /** How long to wait for another process to let go of the file, in ms. */
  readonly lockWaitMs?: number;
}

export const letterFileIn = (dataDir: string): string => join(dataDir, 'dead_letters.db');

/** Opens or creates `<dataDir>/dead_letters.db`. Rejects with StoreError where the file can't be had. */
export async function openLetterStore(options: LetterStoreOptions): Promise<DeadLetterStore> {
  const store = new WorkerLetterStore(options);
  await store.start();
  return store;
}

class WorkerLetterStore implements DeadLetterStore {
  quarantined: Hello['quarantined'];
  readonly #file: string;
  readonly #now: () => number;
  readonly #host: WorkerHost<Batch, Hello, Reply>;
  readonly #waiting: Quota;
  readonly #places = new Map<string, PlaceCounts>();
  readonly #halts = new Map<string, Halt>();
  readonly #quotas = new Map<string, PlaceQuota>();
  readonly #listeners = new Set<(fault: Error | undefined) => void>();
  readonly #inFlight = new Set<Promise<void>>();
  readonly #options: LetterStoreOptions;
  #turn: CommitTurn | undefined;
  #nextId = 1;
  #started = false;
  #damaged = false;
  #fault: Error | undefined;

  constructor(options: LetterStoreOptions) {
    this.#options = options;
    this.#file = letterFileIn(options.dataDir);
    this.#now = options.now;
    this.#waiting = new Quota(options.maxWaitingBytes ?? MAX_WAITING_BYTES);
    this.#host = new WorkerHost({
      script: join(__dirname, 'dead-letter-worker.js'),
      file: this.#file,
      codes: DLQ_FAULT_CODES,
      workerData: () => this.#workerOptions(),
      onHello: (hello) => this.#hello(hello),
      onFault: (fault) => this.#setFault(fault),
    });
  }

  start(): Promise<void> {
    return this.#host.start();
  }

  async park(letter: NewLetter, halt?: Pick<Halt, 'rule' | 'cause'>): Promise<Parked> {
    const { place, key, envelope, derived, target, record } = letter;
    const text = JSON.stringify(derived ? withoutDerived(envelope, derived) : envelope);
    const bytes = Buffer.byteLength(text) + record.byteLength;
    if (!this.#waiting.reserve(bytes)) {
      throw this.#error({ kind: 'stalled', detail: `${this.#waiting.used} bytes wait` });
    }
    const id = this.#nextId;
    this.#nextId += 1;
    const at = envelope.timestamp;
    try {
      const stored = await this.#gather().park(
        {
          id,
          place,
          ...(key === undefined ? {} : { key }),
          rule: envelope.rule_id,
          stage: STAGES[envelope.stage].number,
          at,
          bytes,
          derived: (derived?.raw ? 1 : 0) + (derived?.tuple ? 2 : 0),
          envelope: text,
          target: JSON.stringify(target),
          halt: halt && { ...halt, at, letterId: id },
        },
        record,
        this.#quotas.get(place) ?? (place === PIPELINE ? PIPELINE_QUOTA : PUSH_QUOTA),
      );
      if (halt && !this.#halts.has(halt.rule)) {
        this.#halts.set(halt.rule, { ...halt, at, letterId: stored });
      }
      return { id: stored, isNew: stored === id };
    } finally {
      this.#waiting.free(bytes);
    }
  }

  change(id: number, from: 'open' | 'replaying', to: LetterState, lastReplay?: LastReplay): Promise<boolean> {
    const note = lastReplay === undefined ? null : JSON.stringify(lastReplay);
    return this.#change({ kind: 'change', id, from, to, at: this.#now(), lastReplay: note });
  }

  claim(id: number): Promise<boolean> {
    return this.#change({ kind: 'claim', id, at: this.#now() });
  }

  async unhalt(rule: string): Promise<void> {
    await this.#change({ kind: 'unhalt', rule });
    this.#halts.delete(rule);
  }

  async get(id: number): Promise<LetterWithRecord | undefined> {
    return (await this.#ask({ kind: 'get', id }, 'letter')).letter;
  }

  async list(filter: LetterFilter, limit: number): Promise<readonly Letter[]> {
    return (await this.#ask({ kind: 'list', filter, limit }, 'letters')).letters;
  }

  async openIds(
    filter: LetterFilter,
    afterId: number,
    upToId: number,
    limit: number,
  ): Promise<readonly number[]> {
    return (await this.#ask({ kind: 'openIds', filter, afterId, upToId, limit }, 'ids')).ids;
  }

  async countOpen(filter: LetterFilter): Promise<number> {
    return (await this.#ask({ kind: 'countOpen', filter }, 'count')).count;
  }

  halts(): ReadonlyMap<string, Halt> {
    return this.#halts;
  }

  counts(place: string): PlaceCounts {
    return this.#places.get(place) ?? NOTHING;
  }

  places(): readonly string[] {
    return [...this.#places.keys()];
  }

  setQuota(place: string, quota: PlaceQuota | undefined): void {
    if (quota) this.#quotas.set(place, quota);
    else this.#quotas.delete(place);
  }

  onHealth(listener: (fault: Error | undefined) => void): () => void {
    this.#listeners.add(listener);
    if (this.#fault) listener(this.#fault);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#flush();
    await Promise.all(this.#inFlight);
    await this.#host.close();
  }

  #workerOptions(): WorkerOptions {
    const { maxPages, nativeBinding, lockWaitMs } = this.#options;
    return {
      file: this.#file,
      damaged: this.#damaged,
      restarted: this.#started,
      now: this.#now(),
      maxPages,
      nativeBinding,
      lockWaitMs,
    };
  }

  #hello({ nextId, places, halts, quarantined }: Hello): void {
    this.#started = true;
    this.#damaged = false;
    this.#nextId = Math.max(this.#nextId, nextId);
    this.#places.clear();
    this.#learn(places, false);
    this.#halts.clear();
    for (const halt of halts) this.#halts.set(halt.rule, halt);
    this.quarantined = quarantined ?? this.quarantined;
    this.#setFault(undefined);
  }

  #learn(places: readonly PlaceState[], tell: boolean): void {
    for (const { place, ...counts } of places) {
      const trimmed = counts.trimmedOpenTotal - this.counts(place).trimmedOpenTotal;
      this.#places.set(place, counts);
      if (tell && trimmed > 0) this.#options.onTrimmed?.(place, trimmed);
    }
  }

  async #change(op: ChangeOp): Promise<boolean> {
    return (await this.#gather().change(op)) === 1;
  }

  #gather(): CommitTurn {
    if (!this.#turn) {
      this.#turn = new CommitTurn();
      setImmediate(() => this.#flush());
    }
    return this.#turn;
  }

  #flush(): void {
    const turn = this.#turn;
    if (!turn) return;
    this.#turn = undefined;
    const sending = this.#send(turn).finally(() => this.#inFlight.delete(sending));
    this.#inFlight.add(sending);
  }

  async #send(turn: CommitTurn): Promise<void> {
    try {
      const batch = turn.pack();
      const reply = await this.#host.request(batch, [batch.records]);
      if (reply.kind !== 'committed') throw this.#unexpected(reply);
      this.#learn(reply.places, true);
      const all = reply.fault && this.#error(reply.fault);
      const parks = reply.parkFault && this.#error(reply.parkFault);
      turn.answer(reply, { all, parks });
      this.#setFault(all ?? parks);
      if ((reply.fault ?? reply.parkFault)?.kind === 'corrupt') this.#replaceFile();
    } catch (error) {
      turn.fail(error instanceof Error ? error : this.#unexpected(undefined));
    }
  }

  /** What was called before is committed before: a reader must not see a letter as it was. */
  async #ask<Kind extends Reply['kind']>(batch: ReadBatch, kind: Kind) {
    this.#flush();
    const reply = await this.#host.request(batch);
    const isExpected = (some: Reply): some is Extract<Reply, { kind: Kind }> => some.kind === kind;
    if (isExpected(reply)) return reply;
    throw this.#unexpected(reply);
  }

  /** The next worker sets the damaged file aside and saves what can be read of it. */
  #replaceFile(): void {
    this.#damaged = true;
    this.#host.restart();
  }

  #error(fault: Fault): Error {
    return storeError(fault, this.#file, DLQ_FAULT_CODES);
  }

  #unexpected(reply: Reply | undefined): Error {
    const detail = `reply ${reply?.kind ?? 'missing'}`;
    const fault: Fault = reply?.kind === 'failed' ? reply.fault : { kind: 'worker', detail };
    if (fault.kind === 'corrupt') this.#replaceFile();
    return this.#error(fault);
  }

  #setFault(fault: Error | undefined): void {
    if (fault?.message === this.#fault?.message) return;
    this.#fault = fault;
    for (const listener of this.#listeners) listener(fault);
  }
}
