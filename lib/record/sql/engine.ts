/**
 * PostgreSQL in a thread of its own, for all transforms of a process. Records of one turn of the event loop go to it
 * together, one batch at a time. A batch that takes too long, or that the engine doesn't survive, costs the thread: it is
 * started again, and the records of that batch are evaluated one by one, so that only the one at fault fails.
 */
import { ConfigError, DeliveryError } from '../../errors/errors';
import { RecordError } from '../record-error';
import {
  unpackRows,
  type FromSqlWorker,
  type SelectSpec,
  type SqlFault,
  type SqlResult,
  type ToSqlWorker,
} from './protocol';

const MAX_BATCH_RECORDS = 512;
const MAX_BATCH_CHARACTERS = 4 * 1024 * 1024;
/** Records that wait for the engine, which takes seconds to start. */
const MAX_WAITING = 10_000;
const START_TIMEOUT_MS = 120_000;
const RESTART_FIRST_MS = 1000;
const RESTART_MAX_MS = 60_000;
/** A redeploy closes the last statement and opens it again; starting takes seconds. */
const LINGER_MS = 30_000;
const MAX_MESSAGE = 200;

/** What the engine needs of a thread. */
export interface SqlThread {
  post(message: ToSqlWorker): void;
  end(): void;
}

/** Starts a thread. `gone` is called once when it ended by itself or couldn't start. */
export type StartThread = (
  heard: (message: FromSqlWorker) => void,
  gone: (reason: Error) => void,
) => SqlThread;

export interface SqlStatement {
  /** Resolves once the engine knows the statement. Rejects with ConfigError when it can't. */
  readonly ready: Promise<void>;
  /** The rows that come of a record, as JSON. Rejects with RecordError, or DeliveryError (transient). */
  run(record: string): Promise<readonly string[]>;
  /** What waits is rejected. */
  close(): void;
}

interface Statement {
  readonly id: number;
  readonly spec: SelectSpec;
  readonly timeoutMs: number;
  readonly resolveReady: () => void;
  readonly rejectReady: (error: Error) => void;
  refused: ConfigError | undefined;
}

interface Job {
  readonly statement: Statement;
  readonly record: string;
  readonly resolve: (rows: readonly string[]) => void;
  readonly reject: (error: Error) => void;
  /** It was in a batch that the thread didn't survive. */
  alone: boolean;
}

type Task = { readonly prepare: Statement } | { readonly batch: readonly Job[] };

const shorten = (text: string) => (text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE)}…` : text);

const failed = ({ code, message }: SqlFault) =>
  new RecordError('ERR_SLUICE_TRANSFORM_FAILED', `${shorten(message)} (SQLSTATE ${code})`);

const transient = (
  code: 'ERR_SLUICE_TRANSFORM_ENGINE' | 'ERR_SLUICE_TRANSFORM_BUSY' | 'ERR_SLUICE_DELIVERY_ABORTED',
  text: string,
) => new DeliveryError(code, text, { failure: 'transient' });

export class SqlEngine {
  readonly #start: StartThread;
  readonly #statements = new Map<number, Statement>();
  #ids = 0;
  #jobs: Job[] = [];
  /** Statements that the thread doesn't know yet. */
  #unprepared: Statement[] = [];
  #thread: SqlThread | undefined;
  #isReady = false;
  #task: Task | undefined;
  #deadline: NodeJS.Timeout | undefined;
  #linger: NodeJS.Timeout | undefined;
  #restart: NodeJS.Timeout | undefined;
  #isScheduled = false;
  #fault: DeliveryError | undefined;
  #restartMs = RESTART_FIRST_MS;

  constructor(start: StartThread) {
    this.#start = start;
  }

  open(spec: SelectSpec, timeoutMs: number): SqlStatement {
    clearTimeout(this.#linger);
    this.#ids += 1;
    let resolveReady = () => {};
    let rejectReady = (_error: Error) => {};
    const ready = new Promise<void>((resolve, reject) => {
      resolveReady = resolve;
      rejectReady = reject;
    });
    // Whoever opens it may look at `run` only.
    ready.catch(() => undefined);
    const statement: Statement = {
      id: this.#ids,
      spec,
      timeoutMs,
      resolveReady,
      rejectReady,
      refused: undefined,
    };
    this.#statements.set(statement.id, statement);
    this.#unprepared.push(statement);
    this.#launch();
    this.#schedule();
    return {
      ready,
      run: (record) => this.#run(statement, record),
      close: () => this.#close(statement),
    };
  }

  #run(statement: Statement, record: string): Promise<readonly string[]> {
    const { refused } = statement;
    if (refused) return Promise.reject(refused);
    if (this.#fault) return Promise.reject(this.#fault);
    if (this.#jobs.length >= MAX_WAITING) {
      return Promise.reject(
        transient('ERR_SLUICE_TRANSFORM_BUSY', `${MAX_WAITING} records wait for the SQL engine`),
      );
    }
    return new Promise((resolve, reject) => {
      this.#jobs.push({ statement, record, resolve, reject, alone: false });
      this.#schedule();
    });
  }

  #close(statement: Statement): void {
    this.#statements.delete(statement.id);
    this.#unprepared = this.#unprepared.filter((other) => other !== statement);
    const closed = transient(
      'ERR_SLUICE_DELIVERY_ABORTED',
      'the node was closed before the record was evaluated',
    );
    statement.rejectReady(closed);
    this.#rejectJobs(closed, (job) => job.statement === statement);
    if (this.#isReady) this.#thread?.post({ forget: statement.id });
    if (this.#statements.size > 0) return;
    this.#linger = setTimeout(() => this.#stop(), LINGER_MS);
    this.#linger.unref();
  }

  #rejectJobs(error: Error, which: (job: Job) => boolean = () => true): void {
    const rejected = this.#jobs.filter(which);
    this.#jobs = this.#jobs.filter((job) => !which(job));
    for (const { reject } of rejected) reject(error);
  }

  /** At the end of this turn, so that its records go together. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#pump();
    });
  }

  #pump(): void {
    if (this.#task || !this.#isReady) return;
    const statement = this.#unprepared.shift();
    if (statement) {
      const { id, spec } = statement;
      return this.#give({ prepare: statement }, { prepare: id, spec }, START_TIMEOUT_MS);
    }
    const batch = this.#takeBatch();
    const [first] = batch;
    if (!first) return;
    const { id, timeoutMs } = first.statement;
    this.#give({ batch }, { run: id, records: batch.map(({ record }) => record) }, timeoutMs);
  }

  /** Records of one statement, from the oldest on; one that is to be alone is. */
  #takeBatch(): Job[] {
    const [first] = this.#jobs;
    if (!first) return [];
    if (first.alone) return this.#jobs.splice(0, 1);
    const batch: Job[] = [];
    const left: Job[] = [];
    let characters = 0;
    for (const job of this.#jobs) {
      const fits =
        batch.length < MAX_BATCH_RECORDS && (characters === 0 || characters < MAX_BATCH_CHARACTERS);
      if (job.statement === first.statement && !job.alone && fits) {
        batch.push(job);
        characters += job.record.length;
      } else left.push(job);
    }
    this.#jobs = left;
    return batch;
  }

  #give(task: Task, message: ToSqlWorker, timeoutMs: number): void {
    this.#task = task;
    this.#deadline = setTimeout(() => this.#lose(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
    this.#thread?.post(message);
  }

  #hear(message: FromSqlWorker): void {
    clearTimeout(this.#deadline);
    const task = this.#task;
    this.#task = undefined;
    if ('ready' in message) {
      this.#isReady = true;
      this.#fault = undefined;
      this.#restartMs = RESTART_FIRST_MS;
    } else if (task && 'prepare' in task)
      this.#prepared(task.prepare, 'refused' in message ? message.refused : undefined);
    else if (task && 'results' in message) settle(task.batch, message.results);
    else if (task && 'rows' in message) settle(task.batch, unpackRows(message.rows, task.batch.length));
    this.#pump();
  }

  #prepared(statement: Statement, refused: SqlFault | undefined): void {
    if (!refused) return statement.resolveReady();
    const text = `the SQL can't be used: ${shorten(refused.message)} (SQLSTATE ${refused.code})`;
    const error = new ConfigError('ERR_SLUICE_TRANSFORM_EXPRESSION', text);
    statement.refused = error;
    statement.rejectReady(error);
    this.#rejectJobs(error, (job) => job.statement === statement);
  }

  #launch(): void {
    if (this.#thread || this.#restart) return;
    let isGone = false;
    const thread = this.#start(
      (message) => {
        if (!isGone) this.#hear(message);
      },
      (reason) => {
        if (!isGone && this.#thread === thread) this.#lose(reason);
        isGone = true;
      },
    );
    this.#thread = thread;
    this.#deadline = setTimeout(() => this.#lose(new Error('it did not start')), START_TIMEOUT_MS);
    this.#deadline.unref();
  }

  /** The thread hangs or ended: it is replaced, and who was in its hands goes alone, or fails if it was. */
  #lose(reason: Error): void {
    const task = this.#task;
    const hadStarted = this.#isReady;
    this.#end();
    this.#unprepared = [...this.#statements.values()].filter(({ refused }) => refused === undefined);
    if (task && 'batch' in task) this.#isolate(task.batch, reason);
    else {
      // It doesn't start, or a statement can't be made ready: that is no record's fault.
      const text = `the SQL engine failed: ${shorten(reason.message)}; it is started again`;
      this.#fault = transient('ERR_SLUICE_TRANSFORM_ENGINE', text);
      this.#rejectJobs(this.#fault);
    }
    if (this.#statements.size === 0) return;
    if (hadStarted && !this.#fault) return this.#launch();
    this.#restart = setTimeout(() => {
      this.#restart = undefined;
      this.#launch();
    }, this.#restartMs);
    this.#restart.unref();
    this.#restartMs = Math.min(this.#restartMs * 2, RESTART_MAX_MS);
  }

  #isolate(batch: readonly Job[], reason: Error): void {
    const [only] = batch;
    if (only && batch.length === 1) {
      only.reject(
        new RecordError(
          'ERR_SLUICE_TRANSFORM_TIMEOUT',
          `the evaluation was ended: ${shorten(reason.message)}`,
        ),
      );
      return;
    }
    for (const job of batch) job.alone = true;
    this.#jobs = [...batch, ...this.#jobs];
  }

  #end(): void {
    clearTimeout(this.#deadline);
    this.#task = undefined;
    this.#isReady = false;
    this.#thread?.end();
    this.#thread = undefined;
  }

  #stop(): void {
    clearTimeout(this.#restart);
    this.#restart = undefined;
    this.#fault = undefined;
    this.#end();
  }
}

function settle(batch: readonly Job[], results: readonly SqlResult[]): void {
  for (const [index, { resolve, reject }] of batch.entries()) {
    const result = results[index];
    if (result === undefined)
      reject(transient('ERR_SLUICE_TRANSFORM_ENGINE', 'the SQL engine gave no result for a record'));
    else if ('code' in result) reject(failed(result));
    else resolve(result);
  }
}
