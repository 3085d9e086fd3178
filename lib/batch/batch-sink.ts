/**
 * A sink that stores records in batches: a bounded backlog, one batch under way at a time, each record settled when the
 * batch that holds it is confirmed.
 *
 * A batch that can't be stored now is retained and sent again as it is, with its token, until it can be; what waits
 * meanwhile counts against the same bound. One that is refused for its data is taken apart until the rows at fault stand
 * alone: those fail for good, all others are stored.
 */
import { Alarm } from '../alert/alarm';
import type { AlertPlace } from '../alert/alert-place';
import type { FullPolicy, Hold, Sink, SinkStatus } from '../delivery/contract';
import { nextDelayMs, refusalRetrySecs } from '../delivery/retry';
import { DeliveryError } from '../errors/errors';
import type { DeliveryOutcome, Metrics } from '../metrics/metrics';
import { Backlog } from './backlog';
import { dueInMs, fitsInto, LINGER_MS, type BatchLimits } from './batch-limits';
import { batchToken } from './batch-token';
import { InsertError, type BatchRow, type BatchTarget, type InsertFailure } from './contract';
import { Isolation } from './isolation';
import { Pause } from './pause';

export interface BatchSinkOptions {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly z: string;
  readonly policy: FullPolicy;
  /** Rows waiting, under way and retained. */
  readonly maxBacklog: number;
  readonly limits: BatchLimits;
  /** Whether whoever feeds the sink may have more to give: then an incomplete batch waits for company. */
  readonly isFed: () => boolean;
  readonly random?: () => number;
  /** Of the waits between tries. */
  readonly retry?: { readonly initialMs: number; readonly maxMs: number };
}

interface Waiting<Value> extends BatchRow<Value> {
  readonly since: number;
  readonly resolve: () => void;
  readonly reject: (error: DeliveryError) => void;
}

const RETRY = { initialMs: 500, maxMs: 30_000 } as const;
/** Node-RED gives up on a closing node after 15 s. */
const CLOSE_GRACE_MS = 10_000;
/** Failures in a row, some ten seconds, after which one that should pass by itself is worth an alert. */
const PATIENCE = 5;

export class BatchSink<Value> implements Sink {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly z: string;
  readonly policy: FullPolicy;
  readonly batch: number;
  readonly alarm: Alarm;

  readonly #backlog: Backlog<Waiting<Value>>;
  readonly #pause = new Pause();
  /** Refused for a reason that isn't theirs, and certainly not stored: they go first, with others if there are any. */
  #retained: readonly Waiting<Value>[] = [];
  #failures = 0;
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #state: 'open' | 'closing' | 'closed' = 'open';
  #fault: DeliveryError | undefined;
  #meanInsertMs = 0;
  #dropped = 0;
  #blocked = 0;
  #delivered = 0;
  #failed = 0;

  constructor(
    private readonly options: BatchSinkOptions,
    private readonly target: BatchTarget<Value>,
    private readonly metrics: Metrics,
    private readonly alerts: AlertPlace,
  ) {
    ({ id: this.id, name: this.name, type: this.type, z: this.z, policy: this.policy } = options);
    this.batch = options.limits.rows;
    this.#backlog = new Backlog(options.policy, options.maxBacklog);
    this.alarm = new Alarm(() => ({
      used: this.#backlog.used,
      limit: options.maxBacklog,
      refusedOrEvicted: this.#blocked + this.#dropped,
    }));
    alerts.watch(this.alarm, this.policy);
    metrics.declareSink(this.name);
  }

  /** Why the last insert failed; undefined once one was confirmed. */
  get fault(): DeliveryError | undefined {
    return this.#fault;
  }

  canTake(_bytes: number, records: number): boolean {
    return this.#backlog.canTake(records);
  }

  hold(_bytes: number, records: number): Hold {
    return this.#backlog.hold(records);
  }

  /** How long the destination is given after a failure, or the backlog takes to drain at the recent pace. */
  retryAfterSecs(): number {
    const batches = this.#backlog.used / this.options.limits.rows;
    const drainMs = Math.max(this.#pause.leftMs, batches * this.#meanInsertMs);
    return refusalRetrySecs(drainMs, this.options.random ?? Math.random);
  }

  countBlocked(records: number): void {
    this.#blocked += records;
  }

  status(): SinkStatus {
    return {
      level: this.alarm.level,
      dropped: this.#dropped,
      blocked: this.#blocked,
      delivered: this.#delivered,
      failed: this.#failed,
      backlog: this.#backlog.used,
      max_backlog: this.options.maxBacklog,
      retained: this.#backlog.used - this.#backlog.size,
      on_full: this.policy,
      paused_secs: Math.ceil(this.#pause.leftMs / 1000),
      fault: this.#fault?.code ?? null,
    };
  }

  /** Resolves when the destination has confirmed the row. Rejects with a DeliveryError. */
  deliver({ id, value, bytes, source }: BatchRow<Value>): Promise<void> {
    if (this.#state !== 'open') return Promise.reject(aborted());
    if (!this.#backlog.reserve((evicted) => this.#evict(evicted))) {
      this.countBlocked(1);
      this.metrics.recordsRefused(source, this.name);
      return Promise.reject(this.#refusal());
    }
    return new Promise((resolve, reject) => {
      // Field by field: a spread costs as much as all the rest.
      this.#backlog.add({ id, value, bytes, source, since: performance.now(), resolve, reject });
      this.#bytes += bytes;
      if (!this.#timer || this.#isFull) this.#pump();
    });
  }

  /** Sends what waits, once; after `graceMs`, or at the first failure, the rest is given back to its origin. */
  async close(graceMs = CLOSE_GRACE_MS): Promise<void> {
    this.#state = 'closing';
    this.#pump();
    this.#pause.end();
    let timer: NodeJS.Timeout | undefined;
    const grace = new Promise<void>((resolve) => (timer = setTimeout(resolve, graceMs)));
    const emptied = (async () => {
      while (this.#sending) await this.#sending;
    })();
    await Promise.race([emptied, grace]);
    clearTimeout(timer);
    this.#state = 'closed';
    await this.target.close();
    await emptied;
    this.#giveBack([...this.#retained, ...this.#take(() => true)]);
    this.#retained = [];
  }

  get #isFull(): boolean {
    const { rows, bytes } = this.options.limits;
    return this.#backlog.size >= rows || this.#bytes >= bytes;
  }

  /** Starts what is due, or arranges to be called when it is. */
  #pump(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#sending || this.#state === 'closed') return;
    const delayMs = this.#dueInMs();
    if (delayMs === undefined) return;
    if (delayMs > 0) {
      // By then whoever feeds it may have run out.
      this.#timer = setTimeout(() => this.#pump(), Math.ceil(Math.min(delayMs, LINGER_MS)));
      return;
    }
    const fits = fitsInto(this.options.limits);
    const retained = this.#retained.filter(fits);
    this.#retained = this.#retained.slice(retained.length);
    const batch = this.#retained.length > 0 ? retained : [...retained, ...this.#take(fits)];
    this.#sending = this.#send(batch).finally(() => {
      this.#sending = undefined;
      this.#pump();
    });
  }

  #dueInMs(): number | undefined {
    if (this.#retained.length > 0) return 0;
    if (this.#state === 'closing') return this.#backlog.size > 0 ? 0 : undefined;
    const { oldest } = this.#backlog;
    const fill = {
      rows: this.#backlog.size,
      bytes: this.#bytes,
      ageMs: oldest ? performance.now() - oldest.since : 0,
      isFed: this.options.isFed(),
    };
    return dueInMs(fill, this.options.limits);
  }

  #take(wants: (next: BatchRow<Value>) => boolean): Waiting<Value>[] {
    const taken = this.#backlog.takeWhile(wants);
    for (const { bytes } of taken) this.#bytes -= bytes;
    return taken;
  }

  async #send(batch: readonly Waiting<Value>[]): Promise<void> {
    const isolation = new Isolation(batch);
    for (let part = isolation.next(); part; part = isolation.next()) {
      const failure = await this.#insert(part);
      if (!failure) {
        this.#failures = 0;
        isolation.stored();
        this.#confirm(part);
      } else if (failure.kind === 'rows') {
        isolation.without(this.#rejectRows(part, failure.faults));
      } else if (failure.kind === 'data') {
        const faulty = isolation.refused(failure.hint);
        if (faulty) this.#reject(faulty, failure.error);
      } else {
        this.#noteTrouble(failure, part.length);
        if (this.#state !== 'open') {
          this.#state = 'closed';
          return this.#giveBack(isolation.rest());
        }
        await this.#pause.wait(this.#delayAfter(failure.error));
        if (failure.kind === 'config') {
          this.#retained = isolation.rest();
          return;
        }
      }
    }
  }

  async #insert(part: readonly Waiting<Value>[]): Promise<InsertFailure | undefined> {
    const startedAt = performance.now();
    try {
      await this.target.insert(part, batchToken(part.map(({ id }) => id)));
      return undefined;
    } catch (error) {
      return error instanceof InsertError ? error.failure : { kind: 'unknown', error: unforeseen(error) };
    } finally {
      const tookMs = performance.now() - startedAt;
      this.metrics.deliveryDuration(this.name, tookMs / 1000);
      this.#meanInsertMs += (tookMs - this.#meanInsertMs) / (this.#meanInsertMs === 0 ? 1 : 8);
    }
  }

  #delayAfter({ retryAfterMs }: DeliveryError): number {
    this.#failures += 1;
    const attempt = this.#failures;
    const { random = Math.random, retry = RETRY } = this.options;
    return nextDelayMs({ ...retry, attempt, random, retryAfterMs });
  }

  #noteTrouble({ kind, error }: InsertFailure & { readonly error: DeliveryError }, rows: number): void {
    this.#fault = error;
    this.#count(kind === 'config' ? 'config' : kind === 'unknown' ? 'unknown' : 'transient', rows);
    if (error.failure === 'config' || this.#failures >= PATIENCE) this.alerts.raise('fault', error);
  }

  #confirm(part: readonly Waiting<Value>[]): void {
    this.#fault = undefined;
    this.alerts.clear('fault');
    this.#count('done', part.length);
    this.#delivered += part.length;
    this.metrics.recordsDelivered(this.name, part.length);
    this.#backlog.free(part.length);
    for (const { resolve } of part) resolve();
  }

  #rejectRows(
    part: readonly Waiting<Value>[],
    faults: ReadonlyMap<number, DeliveryError>,
  ): ReadonlySet<Waiting<Value>> {
    const faulty = new Set<Waiting<Value>>();
    for (const [index, error] of faults) {
      const row = part[index];
      if (!row) continue;
      faulty.add(row);
      this.#reject(row, error);
    }
    return faulty;
  }

  #reject(row: Waiting<Value>, error: DeliveryError): void {
    this.#failed += 1;
    this.#count('permanent', 1);
    this.#backlog.free(1);
    row.reject(error);
  }

  #giveBack(rows: readonly Waiting<Value>[]): void {
    this.#count('aborted', rows.length);
    this.#backlog.free(rows.length);
    for (const { reject } of rows) reject(aborted());
  }

  #evict(oldest: Waiting<Value>): void {
    this.#bytes -= oldest.bytes;
    this.#dropped += 1;
    this.alerts.lost('evicted');
    const text = `the backlog of ${this.name} was full and this was its oldest record`;
    oldest.reject(new DeliveryError('ERR_SLUICE_BATCH_EVICTED', text, { failure: 'transient' }));
  }

  #refusal(): DeliveryError {
    const text = `the backlog of ${this.name} is full: the destination is slow or down`;
    const retryAfterMs = this.retryAfterSecs() * 1000;
    const options = { failure: 'transient', retryAfterMs, sink: this.name } as const;
    return new DeliveryError('ERR_SLUICE_BATCH_FULL', text, options);
  }

  #count(outcome: DeliveryOutcome, records: number): void {
    if (records > 0) this.metrics.deliveryAttempts(this.name, outcome, records);
  }
}

function aborted(): DeliveryError {
  const text = 'the sink was closed by a deploy or shutdown before the destination confirmed the record';
  return new DeliveryError('ERR_SLUICE_DELIVERY_ABORTED', text, { failure: 'transient' });
}

/** Whether the rows are stored can't be told from an error that nobody foresaw. */
function unforeseen(cause: unknown): DeliveryError {
  const text = cause instanceof Error ? cause.message : String(cause);
  return new DeliveryError('ERR_SLUICE_DELIVERY_FAILED', text, { failure: 'transient', cause });
}
