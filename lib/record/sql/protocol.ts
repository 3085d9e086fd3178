import type { Column } from './columns';

/** A SELECT to make ready. */
export interface SelectSpec {
  readonly select: string;
  readonly columns: readonly Column[];
}

/** An error of the engine: the SQLSTATE, empty where the engine itself failed, and its message. */
export interface SqlFault {
  readonly code: string;
  readonly message: string;
}

/** What became of one record: the rows that came of it, as JSON, or its error. */
export type SqlResult = readonly string[] | SqlFault;

export type ToSqlWorker =
  | { readonly prepare: number; readonly spec: SelectSpec }
  | { readonly run: number; readonly records: readonly string[] }
  | { readonly forget: number };

/**
 * `rows` are those of a batch in which no record failed, packed; `results` tell of each record. `ready` comes once; each
 * `prepare` and `run` gets one answer, in order.
 */
export type FromSqlWorker =
  | { readonly ready: true }
  | { readonly prepared: true }
  | { readonly refused: SqlFault }
  | { readonly rows: string }
  | { readonly results: readonly SqlResult[] };

/** Code of the character between rows: JSON never holds it unescaped. */
export const ROW_SEPARATOR = 30;
const separator = String.fromCharCode(ROW_SEPARATOR);

/** Rows as JSON, cut apart. */
export const splitRows = (rows: string): string[] => (rows === '' ? [] : rows.split(separator));

/** The rows of each of `count` records, from rows that begin with the number of theirs, counted from 1, and a blank. */
export function unpackRows(packed: string, count: number): readonly (readonly string[])[] {
  const results = Array.from({ length: count }, (): string[] => []);
  for (const row of splitRows(packed)) {
    const blank = row.indexOf(' ');
    results[Number(row.slice(0, blank)) - 1]?.push(row.slice(blank + 1));
  }
  return results;
}
