import { findOptional } from '#lib/packages/optional-package';
import { parseJson } from '#lib/record/json';
import { columnsJson, parseColumns } from '#lib/record/sql/columns';
import { PGLITE } from '#lib/record/sql/pglite-package';
import { sqlEngine } from '#lib/record/sql/sql-thread';
import { singleSelect } from '#lib/record/sql/statement';
import type { RecordTransformConfig } from './record-transform.config';

export interface SqlTransform {
  /** Rejects with ConfigError when the engine refuses the SELECT. */
  readonly ready: Promise<void>;
  /** The rows that come of a record. Throws or rejects with RecordError, or DeliveryError (transient). */
  run(record: unknown): Promise<readonly unknown[]>;
  close(): void;
}

/** Throws ConfigError for what needs no engine to be found: a package, columns, a statement that isn't one SELECT. */
export function openSql({
  expression,
  columns,
  timeoutMs,
}: Pick<RecordTransformConfig, 'expression' | 'columns' | 'timeoutMs'>): SqlTransform {
  findOptional(PGLITE);
  const select = singleSelect(expression);
  const declared = parseColumns(columns);
  const statement = sqlEngine().open({ select, columns: declared }, timeoutMs);
  return {
    ready: statement.ready,
    run: (record) =>
      statement.run(columnsJson(declared, record)).then((rows) => rows.map((row) => parseJson(row))),
    close: () => statement.close(),
  };
}
