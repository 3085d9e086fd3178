import { InsertError, type BatchRow, type BatchTarget, type InsertFailure } from '#lib/batch/contract';
import type { ClickHouseServer, ClickHouseSettings } from '#lib/clickhouse/server';
import { DeliveryError } from '#lib/errors/errors';
import { classify, refusingView, serverError, viewFailure } from './clickhouse-sink.errors';
import { quotedTable, type TableName } from './clickhouse-sink.names';
import { joined, planBatch, type Plan } from './clickhouse-sink.plan';
import type { ClickHouseRow } from './clickhouse-sink.row';
import { readDeduplication, readTable, type Deduplication, type Table } from './clickhouse-sink.table';

export interface ClickHouseTargetOptions {
  readonly table: TableName;
  readonly insertTimeoutMs: number;
  /** Whether a batch carries a token by which the server tells that it comes again. */
  readonly dedup: boolean;
  /** Whether values that ClickHouse would store as others are refused. */
  readonly checkValues: boolean;
}

const UNKNOWN_FIELD = 117;

/** Stores a batch with one INSERT of JSONEachRow, and asks the server to tell a batch that it has already. */
export class ClickHouseTarget implements BatchTarget<ClickHouseRow> {
  readonly #closing = new AbortController();
  readonly #leave: () => void;
  #table: Table | undefined;

  constructor(
    private readonly server: ClickHouseServer,
    private readonly options: ClickHouseTargetOptions,
  ) {
    this.#leave = server.use();
  }

  async insert(rows: readonly BatchRow<ClickHouseRow>[], token: string): Promise<void> {
    const isKnown = this.#table !== undefined;
    try {
      await this.#insert(
        rows.map(({ value }) => value),
        token,
      );
    } catch (error) {
      if (error instanceof InsertError) throw error;
      // Whatever it is, the table may have been changed.
      this.#table = undefined;
      // Then it is not the row that is wrong.
      if (isKnown && serverError(error).code === UNKNOWN_FIELD) return this.insert(rows, token);
      throw new InsertError(await this.#failureAfter(error, rows.length));
    }
  }

  /** Whether the table tells a batch that comes again; undefined where the sink isn't to ask for that. Throws InsertError. */
  async deduplication(): Promise<Deduplication | undefined> {
    if (!this.options.dedup) return undefined;
    try {
      const table = (this.#table ??= await this.#readTable());
      return await this.#bounded((signal) =>
        readDeduplication(this.server, this.options.table, table, signal),
      );
    } catch (error) {
      throw new InsertError(classify(error, 0));
    }
  }

  /**
   * What a failed insert means. When a view refused, the table has the rows already: the same batch has to come again,
   * where the table can tell it. Where it can't, each try would store them once more, and taking the batch apart ends.
   */
  async #failureAfter(error: unknown, rows: number): Promise<InsertFailure> {
    const view = refusingView(error);
    if (view === undefined || !(await this.#tellsRepeats())) return classify(error, rows);
    return { kind: 'unknown', error: viewFailure(error, view) };
  }

  async #tellsRepeats(): Promise<boolean> {
    return this.deduplication().then(
      (found) => found?.works ?? false,
      () => false,
    );
  }

  close(): Promise<void> {
    this.#closing.abort();
    this.#leave();
    return Promise.resolve();
  }

  async #insert(rows: readonly ClickHouseRow[], token: string): Promise<void> {
    const table = await this.#tableFor(rows);
    await this.#bounded((signal) =>
      this.server.insert({
        table: quotedTable(this.options.table),
        rows: joined(rows),
        settings: this.#settings(table, token),
        signal,
      }),
    );
  }

  /** The table, when it takes the rows. Throws InsertError when it doesn't. */
  async #tableFor(rows: readonly ClickHouseRow[]): Promise<Table> {
    let table = this.#table ?? (await this.#beforeSending());
    let plan = planBatch(rows, table.scanner);
    if (plan.strays.size > 0 && this.#table) {
      // Perhaps a column was added since.
      table = await this.#beforeSending();
      plan = planBatch(rows, table.scanner);
    }
    this.#table = table;
    const failure = this.#failureOf(plan);
    if (failure) throw new InsertError(failure);
    return table;
  }

  #failureOf({ faults, strays }: Plan): InsertFailure | undefined {
    if (faults.size > 0) return { kind: 'rows', faults };
    if (strays.size === 0) return undefined;
    // Asked for anew with the next batch.
    this.#table = undefined;
    const names = [...strays].join(', ');
    const text = `117: ${quotedTable(this.options.table)} has no column ${names} that takes a value: add it, or leave it out of the records; the origin keeps the records`;
    return {
      kind: 'config',
      error: new DeliveryError('ERR_SLUICE_CLICKHOUSE_TABLE', text, { failure: 'config' }),
    };
  }

  /** Reads the table. Nothing was sent yet, so that no failure leaves the outcome open, and none is a record's. */
  async #beforeSending(): Promise<Table> {
    try {
      return await this.#readTable();
    } catch (error) {
      const { kind, error: failure } = classify(error, 0);
      throw new InsertError({ kind: kind === 'config' ? 'config' : 'transient', error: failure });
    }
  }

  #readTable(): Promise<Table> {
    const { table, checkValues } = this.options;
    return this.#bounded((signal) => readTable(this.server, table, checkValues, signal));
  }

  /**
   * Gives work a signal that ends it when it takes too long or the sink is closed. AbortSignal.any would do so, too, and
   * keep a little of each for ever, in Node.js 20.
   */
  async #bounded<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const { signal } = this.#closing;
    const bound = new AbortController();
    const end = () => bound.abort();
    if (signal.aborted) end();
    signal.addEventListener('abort', end);
    const { insertTimeoutMs } = this.options;
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      end();
    }, insertTimeoutMs);
    try {
      return await work(bound.signal);
    } catch (cause) {
      if (!isLate) throw cause;
      throw new Error(`${this.server.address} did not answer within ${insertTimeoutMs} ms`, { cause });
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
    }
  }

  #settings({ knownSettings }: Table, token: string): ClickHouseSettings {
    const wanted = {
      // Without a token the server tells repeats by their content: equal records would be dropped.
      ...(this.options.dedup && knownSettings.has('insert_deduplication_token')
        ? {
            insert_deduplication_token: token,
            ...{ insert_deduplicate: 1, deduplicate_insert: 'enable' },
            // Else a batch that the table has already never reaches a view that missed it.
            deduplicate_blocks_in_dependent_materialized_views: 1,
          }
        : { insert_deduplicate: 0, deduplicate_insert: 'disable' }),
      // Only a synchronous insert is confirmed when it is stored, and deduplicated by its token.
      async_insert: 0,
      input_format_skip_unknown_fields: 0,
    };
    const { ownSettings } = this.server;
    return Object.fromEntries(
      Object.entries(wanted).filter(([name]) => knownSettings.has(name) && !ownSettings.has(name)),
    );
  }
}
