import { batchSinkFields, batchSinkProblems, type BatchSinkConfig } from '#lib/config/batch-sink';
import { choice, flag, text, type Conflict, type Fields } from '#lib/config/fields';

export interface PostgresSinkConfig extends BatchSinkConfig {
  /** `table` or `schema.table`. */
  readonly table: string;
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
  ...batchSinkFields,
  table: text('', { required: true, pattern: TABLE }),
  keyColumns: text(),
  onConflict: choice('nothing', ['nothing', 'update']),
  dedup: flag(true),
};

/** Rules over several properties; the runtime refuses to start on one, the form marks it. */
export function problemsOf(config: PostgresSinkConfig): Conflict<PostgresSinkConfig>[] {
  const problems: Conflict<PostgresSinkConfig>[] = batchSinkProblems(config);
  if (config.onConflict === 'update' && config.keyColumns === '') {
    problems.push({
      property: 'keyColumns',
      key: 'updateNeedsKey',
      text: 'is required with onConflict "update"',
    });
  }
  return problems;
}
