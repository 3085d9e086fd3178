import { choice, number, text, type Conflict, type Fields } from '#lib/config/fields';

export interface RecordTransformConfig {
  readonly name: string;
  readonly language: 'jsonata' | 'sql';
  readonly expression: string;
  /** Of SQL: the fields of the record that it reads, `{"id": "bigint", "temp": "float"}`. */
  readonly columns: string;
  /** Of SQL: how long a batch of records may take. */
  readonly timeoutMs: number;
}

export const fields: Fields<RecordTransformConfig> = {
  name: text(),
  language: choice('jsonata', ['jsonata', 'sql']),
  expression: text('', { required: true }),
  columns: text(),
  timeoutMs: number(5000, { min: 1, max: 600_000 }),
};

/** Rules over several properties; whether the expression can be used is found at the deploy. */
export function problemsOf({ language, columns }: RecordTransformConfig): Conflict<RecordTransformConfig>[] {
  if (language !== 'sql' || columns !== '') return [];
  return [{ property: 'columns', key: 'columnsNeeded', text: 'must name the fields that the SQL reads' }];
}
