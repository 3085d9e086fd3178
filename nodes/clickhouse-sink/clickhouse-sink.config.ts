import { COLUMN_LINES } from '#lib/config/column-lines';
import { choice, flag, number, text, type Conflict, type Fields } from '#lib/config/fields';

export interface ClickHouseSinkConfig {
  readonly name: string;
  /** Id of a `sluice-clickhouse-server`. */
  readonly server: string;
  /** `table` or `database.table`. */
  readonly table: string;
  /** One `column = property` a line; empty: the payload is the row. */
  readonly columns: string;
  readonly batchRows: number;
  /** How long the oldest record waits for company. */
  readonly batchMs: number;
  readonly batchBytes: number;
  /** Records waiting and retained; 0: max(batchRows * 20, 10000). */
  readonly maxBacklogRows: number;
  readonly onFull: 'evict_oldest' | 'block';
  readonly insertTimeoutMs: number;
  /** Give each batch a token, by which the server tells one that comes again. */
  readonly dedup: boolean;
  /** Refuse values that ClickHouse would store as others. */
  readonly checkValues: boolean;
}

const NAME = '(?:[A-Za-z_]\\w*|`(?:[^`\\\\]|\\\\.)+`|"(?:[^"\\\\]|\\\\.)+")';
const TABLE = new RegExp(`^${NAME}(?:\\.${NAME})?$`);

export const fields: Fields<ClickHouseSinkConfig> = {
  name: text(),
  server: text('', { required: true }),
  table: text('', { required: true, pattern: TABLE }),
  columns: text('', { pattern: COLUMN_LINES }),
  // One insert is one block at the server, and stored as a whole, up to 1,048,449 rows.
  batchRows: number(1000, { min: 1, max: 1_000_000 }),
  batchMs: number(1000, { min: 1, max: 3_600_000 }),
  batchBytes: number(8 * 1024 * 1024, { min: 1024, max: 256 * 1024 * 1024 }),
  maxBacklogRows: number(0, { max: 100_000_000 }),
  onFull: choice('evict_oldest', ['evict_oldest', 'block']),
  insertTimeoutMs: number(30_000, { min: 100, max: 3_600_000 }),
  dedup: flag(true),
  checkValues: flag(true),
};

/** Rules over several properties; the runtime refuses to start on one, the form marks it. */
export function problemsOf(config: ClickHouseSinkConfig): Conflict<ClickHouseSinkConfig>[] {
  if (config.maxBacklogRows > 0 && config.maxBacklogRows < config.batchRows) {
    const text = 'must not be less than batchRows: a batch is made of records that wait';
    return [{ property: 'maxBacklogRows', key: 'backlogBelowBatch', text }];
  }
  return [];
}
