import { COLUMN_LINES } from '#lib/config/column-lines';
import { choice, flag, number, text, type Conflict, type Fields } from '#lib/config/fields';

export interface PostgresSinkConfig {
  readonly name: string;
  /** Id of a `sluice-postgres-server`. */
  readonly server: string;
  /** `table` or `schema.table`. */
  readonly table: string;
  /** One `column = property` a line; empty: the payload's own keys are the columns. */
  readonly columns: string;
  readonly batchRows: number;
  /** How long the oldest record waits for company. */
  readonly batchMs: number;
  readonly batchBytes: number;
  /** Records waiting and retained; 0: max(batchRows * 20, 10000). */
  readonly maxBacklogRows: number;
  readonly onFull: 'evict_oldest' | 'block';
  readonly insertTimeoutMs: number;
  /** Comma-separated columns of a unique key: a row that is there already counts as stored. */
  readonly keyColumns: string;
  /** With keyColumns: leave a row that is there as it is, or overwrite it. */
  readonly onConflict: 'nothing' | 'update';
  /** Retry a batch whose outcome is unknown in a way that can't store it twice. */
  readonly dedup: boolean;
}

const NAME = '(?:[A-Za-z_\\u0080-\\uffff][\\w$\\u0080-\\uffff]*|"(?:[^"]|"")+")';
const TABLE = new RegExp(`^${NAME}(?:\\.${NAME})?$`);

export const fields: Fields<PostgresSinkConfig> = {
  name: text(),
  server: text('', { required: true }),
  table: text('', { required: true, pattern: TABLE }),
  columns: text('', { pattern: COLUMN_LINES }),
  batchRows: number(1000, { min: 1, max: 1_000_000 }),
  batchMs: number(1000, { min: 1, max: 3_600_000 }),
  batchBytes: number(8 * 1024 * 1024, { min: 1024, max: 1024 ** 3 }),
  maxBacklogRows: number(0, { max: 100_000_000 }),
  onFull: choice('evict_oldest', ['evict_oldest', 'block']),
  insertTimeoutMs: number(30_000, { min: 100, max: 3_600_000 }),
  keyColumns: text(),
  onConflict: choice('nothing', ['nothing', 'update']),
  dedup: flag(true),
};

/** Rules over several properties; the runtime refuses to start on one, the form marks it. */
export function problemsOf(config: PostgresSinkConfig): Conflict<PostgresSinkConfig>[] {
  if (config.maxBacklogRows > 0 && config.maxBacklogRows < config.batchRows) {
    const text = 'must not be less than batchRows: a batch is made of records that wait';
    return [{ property: 'maxBacklogRows', key: 'backlogBelowBatch', text }];
  }
  if (config.onConflict === 'update' && config.keyColumns === '') {
    return [{ property: 'keyColumns', key: 'updateNeedsKey', text: 'is required with onConflict "update"' }];
  }
  return [];
}
