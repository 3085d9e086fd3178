/** What the sinks that store in batches (PostgreSQL, ClickHouse) have in common: where to, how much at once, what bounds it. */
import { COLUMN_LINES } from './column-lines';
import { choice, number, text, type Conflict, type Fields } from './fields';

export interface BatchSinkConfig {
  readonly name: string;
  /** Id of the server's configuration node. */
  readonly server: string;
  /** One `column = property` a line; empty: the payload is the row. */
  readonly columns: string;
  readonly batchRows: number;
  /** How long the oldest record waits for company. */
  readonly batchMs: number;
  readonly batchBytes: number;
  /** Records waiting and retained; 0: `backlogRowsOf`. */
  readonly maxBacklogRows: number;
  readonly onFull: 'evict_oldest' | 'block';
  readonly insertTimeoutMs: number;
}

export const batchSinkFields: Fields<BatchSinkConfig> = {
  name: text(),
  server: text('', { required: true }),
  columns: text('', { pattern: COLUMN_LINES }),
  // ClickHouse stores one insert as a whole up to 1,048,449 rows.
  batchRows: number(1000, { min: 1, max: 1_000_000 }),
  batchMs: number(1000, { min: 1, max: 3_600_000 }),
  batchBytes: number(8 * 1024 * 1024, { min: 1024, max: 256 * 1024 * 1024 }),
  maxBacklogRows: number(0, { max: 100_000_000 }),
  onFull: choice('evict_oldest', ['evict_oldest', 'block']),
  insertTimeoutMs: number(30_000, { min: 100, max: 3_600_000 }),
};

/** The bound of a backlog that isn't set: twenty batches, and no less than 10,000 records. */
export function backlogRowsOf({
  maxBacklogRows,
  batchRows,
}: Pick<BatchSinkConfig, 'maxBacklogRows' | 'batchRows'>): number {
  return maxBacklogRows > 0 ? maxBacklogRows : Math.max(batchRows * 20, 10_000);
}

/** Rules over several properties that hold for every such sink. */
export function batchSinkProblems(config: BatchSinkConfig): Conflict<BatchSinkConfig>[] {
  if (config.maxBacklogRows === 0 || config.maxBacklogRows >= config.batchRows) return [];
  const text = 'must not be less than batchRows: a batch is made of records that wait';
  return [{ property: 'maxBacklogRows', key: 'backlogBelowBatch', text }];
}
