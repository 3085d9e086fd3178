import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { PoolClient } from 'pg';
import { InsertError, type BatchRow, type BatchTarget } from '#lib/batch/contract';
import { DeliveryError } from '#lib/errors/errors';
import { requireCopyStreams, type PostgresServer } from '#lib/postgres/server';
import { planBatch, readColumns, type Columns, type Plan, type RowGroup } from './postgres-sink.columns';
import { classify, stateOf, type InsertPhase } from './postgres-sink.errors';
import type { PostgresRow } from './postgres-sink.row';
import {
  copyLine,
  copyStatement,
  copyText,
  insertStatements,
  type Conflict,
} from './postgres-sink.statements';

export interface PostgresTargetOptions {
  /** Quoted for SQL. */
  readonly table: string;
  readonly insertTimeoutMs: number;
  /** How rows that are there already count as stored; undefined: they are at fault. */
  readonly conflict: Conflict | undefined;
  /** Whether a batch that may have been stored is sent again in a way that can't store it twice. */
  readonly dedup: boolean;
}

interface Progress {
  phase: InsertPhase;
  /** The row at which the server saw the fault. */
  hint: number | undefined;
}

const UNIQUE_VIOLATION = '23505';
const ANY_KEY: Conflict = { keyColumns: [], action: 'nothing' };

/**
 * Stores a batch in one transaction: by COPY, or with a key by INSERT … ON CONFLICT. The batch is confirmed by the
 * answer to COMMIT and by nothing before that, for deferred constraints are checked only then.
 */
export class PostgresTarget implements BatchTarget<PostgresRow> {
  readonly #copy = requireCopyStreams();
  readonly #clients = new Set<PoolClient>();
  #columns: Columns | undefined;
  /** The batch whose outcome is unknown: its rows may be there. */
  #doubtful: string | undefined;
  readonly #closing = new AbortController();
  readonly #leave: () => void;

  constructor(
    private readonly server: PostgresServer,
    private readonly options: PostgresTargetOptions,
  ) {
    this.#leave = server.use();
  }

  async insert(rows: readonly BatchRow<PostgresRow>[], token: string): Promise<void> {
    const progress: Progress = { phase: 'connecting', hint: undefined };
    try {
      await this.#withClient(async (client) => {
        const plan = await this.#plan(client, rows);
        progress.phase = 'storing';
        await this.#transaction(client, plan, progress, token);
      });
      this.#doubtful = undefined;
    } catch (error) {
      if (error instanceof InsertError) throw error;
      const failure = classify(error, progress.phase);
      if (failure.kind === 'unknown') this.#doubtful = token;
      // Whatever it is, the table may have been changed.
      this.#columns = undefined;
      const { hint } = progress;
      throw new InsertError(failure.kind === 'data' && hint !== undefined ? { ...failure, hint } : failure);
    }
  }

  close(): Promise<void> {
    this.#closing.abort();
    for (const client of this.#clients) destroy(client);
    this.#leave();
    return Promise.resolve();
  }

  /** A connection for one batch. One that fails in any way isn't used again, so that nothing is left open on it. */
  async #withClient(use: (client: PoolClient) => Promise<void>): Promise<void> {
    const client = await this.#connect();
    this.#clients.add(client);
    let failure: Error | undefined;
    const timer = setTimeout(() => destroy(client), this.options.insertTimeoutMs);
    // A connection that breaks says so to its pending query; without a listener it would end the process, too.
    const ignore = () => undefined;
    client.on('error', ignore);
    try {
      await use(client);
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error));
      throw failure;
    } finally {
      clearTimeout(timer);
      this.#clients.delete(client);
      client.off('error', ignore);
      client.release(failure);
    }
  }

  /** A connection, unless the sink is closed first: a host that doesn't answer must not hold up a deploy. */
  #connect(): Promise<PoolClient> {
    const { signal } = this.#closing;
    return new Promise((resolve, reject) => {
      const giveUp = () => reject(new Error('the sink is being closed'));
      if (signal.aborted) return giveUp();
      signal.addEventListener('abort', giveUp);
      this.server
        .connect()
        .then((client) => (signal.aborted ? client.release(true) : resolve(client)), reject)
        .finally(() => signal.removeEventListener('abort', giveUp));
    });
  }

  async #plan(client: PoolClient, rows: readonly BatchRow<PostgresRow>[]): Promise<Plan> {
    const values = rows.map(({ value }) => value);
    this.#columns ??= await this.#readColumns(client);
    let plan = planBatch(values, this.#columns);
    if (plan.unknown.size > 0) {
      // Perhaps a column was added since.
      this.#columns = await this.#readColumns(client);
      plan = planBatch(values, this.#columns);
    }
    if (plan.faults.size > 0) throw new InsertError({ kind: 'rows', faults: plan.faults });
    if (plan.unknown.size > 0) throw new InsertError({ kind: 'config', error: this.#strange(plan.unknown) });
    return plan;
  }

  async #readColumns(client: PoolClient): Promise<Columns> {
    const columns = await readColumns(client, this.options.table);
    if (columns.size > 0) return columns;
    const text = `42P01: there is no table ${this.options.table} in ${this.server.address}: create it, or correct the name; the origin keeps the records`;
    const error = new DeliveryError('ERR_SLUICE_POSTGRES_TABLE', text, { failure: 'config' });
    throw new InsertError({ kind: 'config', error });
  }

  #strange(names: ReadonlySet<string>): DeliveryError {
    const text = `42703: the table ${this.options.table} has no column ${[...names].join(', ')}: add it, or set the columns of the sink; the origin keeps the records`;
    return new DeliveryError('ERR_SLUICE_POSTGRES_TABLE', text, { failure: 'config' });
  }

  async #transaction(client: PoolClient, plan: Plan, progress: Progress, token: string): Promise<void> {
    const { conflict } = this.options;
    await client.query('BEGIN');
    try {
      for (const group of plan.groups) {
        if (conflict) await this.#insertGroup(client, group, conflict);
        else await this.#copyGroup(client, group, progress);
      }
      progress.phase = 'committing';
      await client.query('COMMIT');
    } catch (error) {
      // Rows that an earlier, unanswered try of this very batch has stored are no fault of theirs.
      const isRepeat = stateOf(error) === UNIQUE_VIOLATION && token === this.#doubtful && this.options.dedup;
      if (!isRepeat) throw error;
      progress.phase = 'storing';
      await client.query('ROLLBACK');
      await client.query('BEGIN');
      for (const group of plan.groups) await this.#insertGroup(client, group, ANY_KEY);
      progress.phase = 'committing';
      await client.query('COMMIT');
    }
  }

  async #insertGroup(client: PoolClient, group: RowGroup, conflict: Conflict): Promise<void> {
    for (const statement of insertStatements(this.options.table, group, conflict))
      await client.query(statement);
  }

  async #copyGroup(client: PoolClient, group: RowGroup, progress: Progress): Promise<void> {
    const stream = client.query(this.#copy.from(copyStatement(this.options.table, group)));
    try {
      await pipeline(Readable.from([Buffer.from(copyText(group))]), stream);
    } catch (error) {
      // Of two rows with one key the later one is at fault, which shows only when they are stored in their order.
      const isPointing = error instanceof Error && 'where' in error && stateOf(error) !== UNIQUE_VIOLATION;
      const line = isPointing ? copyLine(error.where) : undefined;
      if (line !== undefined) progress.hint = group.indexes[line];
      throw error;
    }
  }
}

/** Ends a connection at once; what waits for it fails. */
function destroy(client: PoolClient): void {
  (client as PoolClient & { connection?: { stream?: { destroy(): void } } }).connection?.stream?.destroy();
}
