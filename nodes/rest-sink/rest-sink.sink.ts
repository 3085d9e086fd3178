import { Alarm } from '#lib/alert/alarm';
import type { AlertPlace } from '#lib/alert/alert-place';
import { Backlog } from '#lib/batch/backlog';
import { batchToken } from '#lib/batch/batch-token';
import { DeliveryError } from '#lib/errors/errors';
import type { FullPolicy, Hold, Sink, SinkStatus } from '#lib/delivery/contract';
import { refusalRetrySecs } from '#lib/delivery/retry';
import type { DeliveryOutcome, Metrics } from '#lib/metrics/metrics';
import type { Answer, RestClient } from './rest-sink.client';
import { classifyAnswer, classifyFault, type AnswerPolicy } from './rest-sink.errors';
import { joinBatch, type EncodedPayload } from './rest-sink.request';

export interface RestSinkOptions {
  readonly id: string;
  readonly name: string;
  readonly z: string;
  readonly policy: FullPolicy;
  readonly maxBacklog: number;
  readonly concurrency: number;
  readonly batch: number;
  readonly answers: AnswerPolicy;
}

export interface RestRecord extends EncodedPayload {
  /** Idempotency key, the same on every retry. */
  readonly deliveryId: string;
  /** Name of the source it came from, for the count of refusals. */
  readonly source: string;
}

/** A record in the backlog, with what settles it. */
interface Waiting {
  readonly record: RestRecord;
  /** Monotonic milliseconds. */
  readonly since: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: DeliveryError) => void;
}

/** How long an incomplete batch waits for company. */
const LINGER_MS = 20;
/** How long requests under way may finish when the node closes; Node-RED gives up on it after 15 s. */
const CLOSE_GRACE_MS = 3000;

/**
 * Delivers records to one HTTP destination: a bounded backlog in front of a bounded number of requests. It never
 * retries, whoever sent the record does; but after an answer with Retry-After it sends nothing until that has passed.
 *
 * The bound is `maxBacklog` records waiting; those in the at most `concurrency` requests under way come on top.
 */
export class RestSink implements Sink {
  readonly type = 'rest-sink';
  readonly id: string;
  readonly name: string;
  readonly z: string;
  readonly policy: FullPolicy;
  readonly batch: number;
  readonly alarm: Alarm;

  readonly #options: RestSinkOptions;
  readonly #client: Pick<RestClient, 'send' | 'destroy'>;
  readonly #metrics: Metrics;
  readonly #alerts: AlertPlace;
  readonly #backlog: Backlog<Waiting>;
  readonly #requests = new Set<Promise<void>>();
  #wake: NodeJS.Timeout | undefined;
  #resumeAt = 0;
  #closed = false;
  #meanRequestMs = 0;
  #dropped = 0;
  #blocked = 0;
  #delivered = 0;
  #failed = 0;

  constructor(
    options: RestSinkOptions,
    client: Pick<RestClient, 'send' | 'destroy'>,
    metrics: Metrics,
    alerts: AlertPlace,
  ) {
    this.#options = options;
    this.#client = client;
    this.#metrics = metrics;
    this.#alerts = alerts;
    ({ id: this.id, name: this.name, z: this.z, policy: this.policy, batch: this.batch } = options);
    this.#backlog = new Backlog(options.policy, options.maxBacklog);
    this.alarm = new Alarm(() => ({
      used: this.#backlog.size,
      limit: options.maxBacklog,
      refusedOrEvicted: this.#blocked + this.#dropped,
    }));
    alerts.watch(this.alarm, this.policy);
    metrics.declareSink(this.name);
  }

  canTake(_bytes: number, records: number): boolean {
    return this.#backlog.canTake(records);
  }

  hold(_bytes: number, records: number): Hold {
    return this.#backlog.hold(records);
  }

  /** From the wait the destination asked for, else from how long the backlog takes to drain at the recent pace. */
  retryAfterSecs(): number {
    const { concurrency, batch } = this.#options;
    const drainMs = (this.#backlog.size / (concurrency * batch)) * this.#meanRequestMs;
    return refusalRetrySecs(Math.max(this.#pauseMs(), drainMs), Math.random);
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
      backlog: this.#backlog.size,
      max_backlog: this.#options.maxBacklog,
      on_full: this.policy,
      requests: this.#requests.size,
      paused_secs: Math.ceil(this.#pauseMs() / 1000),
    };
  }

  /** Resolves with the answer that confirmed the record. Rejects with a DeliveryError. */
  deliver(record: RestRecord): Promise<Answer> {
    if (this.#closed) return Promise.reject(aborted());
    if (!this.#backlog.reserve((evicted) => this.#evict(evicted))) {
      this.countBlocked(1);
      this.#metrics.recordsRefused(record.source, this.name);
      return Promise.reject(this.#refusal());
    }
    return new Promise((resolve, reject) => {
      this.#backlog.add({ record, since: performance.now(), resolve, reject });
      this.#pump();
    });
  }

  /** Fails what waits, lets requests under way finish for a moment, then ends them. */
  async close(graceMs = CLOSE_GRACE_MS): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#wake);
    for (const waiting of this.#take(this.#backlog.size)) waiting.reject(aborted());
    const finished = Promise.all(this.#requests);
    let timer: NodeJS.Timeout | undefined;
    const grace = new Promise((resolve) => (timer = setTimeout(resolve, graceMs)));
    await Promise.race([finished, grace]);
    clearTimeout(timer);
    await this.#client.destroy(aborted());
    await finished;
  }

  #evict(oldest: Waiting): void {
    this.#dropped += 1;
    this.#alerts.lost('evicted');
    const text = `the backlog of ${this.name} was full and this was its oldest record`;
    oldest.reject(new DeliveryError('ERR_SLUICE_REST_EVICTED', text, { failure: 'transient' }));
  }

  #refusal(): DeliveryError {
    const text = `the backlog of ${this.name} is full: the destination is slow or down`;
    const retryAfterMs = this.retryAfterSecs() * 1000;
    return new DeliveryError('ERR_SLUICE_REST_BACKLOG_FULL', text, { failure: 'transient', retryAfterMs });
  }

  /** For the rest of a batch that was being split when the destination asked for a pause. */
  #pausedFailure(retryAfterMs: number): DeliveryError {
    const text = `${this.#options.answers.origin} asked to wait before this record was sent`;
    return new DeliveryError('ERR_SLUICE_REST_BUSY', text, { failure: 'transient', retryAfterMs });
  }

  #pauseMs(): number {
    return Math.max(0, this.#resumeAt - performance.now());
  }

  /** Starts what may start now, and arranges to be called again for what may start later. */
  #pump(): void {
    while (!this.#closed && this.#backlog.size > 0 && this.#requests.size < this.#options.concurrency) {
      const waitMs = Math.max(this.#pauseMs(), this.#lingerMs());
      if (waitMs > 0) return this.#wakeIn(waitMs);
      const request = this.#send(this.#take(this.#options.batch)).finally(() => {
        this.#requests.delete(request);
        this.#pump();
      });
      this.#requests.add(request);
    }
  }

  /** Those in a request no longer count against the backlog. */
  #take(records: number): Waiting[] {
    const taken = this.#backlog.take(records);
    this.#backlog.free(taken.length);
    return taken;
  }

  #lingerMs(): number {
    if (this.#backlog.size >= this.#options.batch) return 0;
    const { oldest } = this.#backlog;
    return oldest ? oldest.since + LINGER_MS - performance.now() : 0;
  }

  #wakeIn(delayMs: number): void {
    clearTimeout(this.#wake);
    this.#wake = setTimeout(() => this.#pump(), Math.ceil(delayMs));
  }

  /** A batch that is refused for its data is split until the records at fault stand alone: each gets its own verdict. */
  async #send(batch: readonly Waiting[]): Promise<void> {
    const outcome = await this.#request(batch.map(({ record }) => record));
    if (!(outcome instanceof DeliveryError)) {
      this.#count('done', batch.length);
      this.#delivered += batch.length;
      this.#metrics.recordsDelivered(this.name, batch.length);
      this.#alerts.clear('fault');
      for (const { resolve } of batch) resolve(outcome);
      return;
    }
    this.#count(outcome.code === 'ERR_SLUICE_DELIVERY_ABORTED' ? 'aborted' : outcome.failure, batch.length);
    if (outcome.failure === 'permanent' && batch.length > 1) {
      const half = batch.length >> 1;
      for (const part of [batch.slice(0, half), batch.slice(half)]) {
        const pauseMs = this.#pauseMs();
        if (this.#closed) this.#fail(part, aborted());
        else if (pauseMs > 0) this.#fail(part, this.#pausedFailure(pauseMs));
        else await this.#send(part);
      }
      return;
    }
    if (outcome.failure === 'config') this.#alerts.raise('fault', outcome);
    this.#fail(batch, outcome);
  }

  #fail(batch: readonly Waiting[], error: DeliveryError): void {
    this.#failed += batch.length;
    for (const { reject } of batch) reject(error);
  }

  async #request(records: readonly RestRecord[]): Promise<Answer | DeliveryError> {
    const { answers } = this.#options;
    const startedAt = performance.now();
    try {
      const { body, contentType, key } = this.#payloadOf(records);
      const answer = await this.#client.send(body, contentType, key);
      const failure = classifyAnswer(answer, answers, Date.now());
      if (failure?.retryAfterMs) this.#pause(failure.retryAfterMs);
      return failure ?? answer;
    } catch (fault) {
      return classifyFault(fault, answers.origin);
    } finally {
      const tookMs = performance.now() - startedAt;
      this.#metrics.deliveryDuration(this.name, tookMs / 1000);
      this.#meanRequestMs += (tookMs - this.#meanRequestMs) / (this.#meanRequestMs === 0 ? 1 : 8);
    }
  }

  #payloadOf(records: readonly RestRecord[]): { body: Uint8Array; contentType: string; key: string } {
    const [first] = records;
    if (!first) throw new RangeError('a request needs a record');
    const { contentType } = first;
    if (this.#options.batch === 1) return { body: first.bytes, contentType, key: first.deliveryId };
    const body = joinBatch(records.map(({ bytes }) => bytes));
    return { body, contentType, key: batchToken(records.map(({ deliveryId }) => deliveryId)) };
  }

  #pause(delayMs: number): void {
    this.#resumeAt = Math.max(this.#resumeAt, performance.now() + delayMs);
  }

  #count(outcome: DeliveryOutcome, records: number): void {
    this.#metrics.deliveryAttempts(this.name, outcome, records);
  }
}

function aborted(): DeliveryError {
  const text = 'the sink was closed by a deploy or shutdown before the destination answered';
  return new DeliveryError('ERR_SLUICE_DELIVERY_ABORTED', text, { failure: 'transient' });
}
