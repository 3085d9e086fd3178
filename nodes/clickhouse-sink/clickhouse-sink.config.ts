import { batchSinkFields, batchSinkProblems, type BatchSinkConfig } from '#lib/config/batch-sink';
import { flag, text, type Fields } from '#lib/config/fields';

export interface ClickHouseSinkConfig extends BatchSinkConfig {
  /** `table` or `database.table`. */
  readonly table: string;
  /** Give each batch a token, by which the server tells one that comes again. */
  readonly dedup: boolean;
  /** Refuse values that ClickHouse would store as others. */
  readonly checkValues: boolean;
}

const NAME = '(?:[A-Za-z_]\\w*|`(?:[^`\\\\]|\\\\.)+`|"(?:[^"\\\\]|\\\\.)+")';
const TABLE = new RegExp(`^${NAME}(?:\\.${NAME})?$`);

export const fields: Fields<ClickHouseSinkConfig> = {
  ...batchSinkFields,
  table: text('', { required: true, pattern: TABLE }),
  dedup: flag(true),
  checkValues: flag(true),
};

export const problemsOf = batchSinkProblems;
