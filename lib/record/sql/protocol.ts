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

/** `ready` comes once; each `prepare` and `run` gets one answer, in order. */
export type FromSqlWorker =
  | { readonly ready: true }
  | { readonly prepared: true }
  | { readonly refused: SqlFault }
  | { readonly results: readonly SqlResult[] };
