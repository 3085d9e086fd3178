/** The table as the server has it, and what a row's values are in it. */
import type { PoolClient } from 'pg';
import { DeliveryError } from '#lib/errors/errors';
import { textOf } from './postgres-sink.text';
import type { PostgresRow } from './postgres-sink.row';

export interface Column {
  readonly name: string;
  /** `json`, `jsonb`, `bytea`, `integer[]`, … as format_type writes it. */
  readonly type: string;
  /** Computed by the server: it takes no value. */
  readonly isGenerated: boolean;
}

export type Columns = ReadonlyMap<string, Column>;

const COLUMNS_SQL = `
  SELECT a.attname AS name, format_type(a.atttypid, NULL) AS type,
         (a.attgenerated <> '' OR a.attidentity = 'a') AS "isGenerated"
  FROM pg_attribute a
  WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped
  ORDER BY a.attnum`;

/** The columns of a table, given as quoted for SQL; none where there is no such table. */
export async function readColumns(client: PoolClient, table: string): Promise<Columns> {
  const { rows } = await client.query<Column>(COLUMNS_SQL, [table]);
  return new Map(rows.map((column) => [column.name, column]));
}

/** Rows that fill the same columns: they go in one statement. */
export interface RowGroup {
  readonly columns: readonly string[];
  /** Position of each row in the batch. */
  readonly indexes: number[];
  readonly values: (readonly (string | null)[])[];
}

export interface Plan {
  readonly groups: readonly RowGroup[];
  /** Rows that can't be stored whatever is tried, by their position. */
  readonly faults: ReadonlyMap<number, DeliveryError>;
  /** Columns that rows name and the table lacks. */
  readonly unknown: ReadonlySet<string>;
}

/**
 * Sorts a batch into groups. A row that names a column which the table lacks is at fault itself where other rows do
 * without; where all of them name such a column it is the table that is wrong, and `unknown` says so with no fault.
 */
export function planBatch(rows: readonly PostgresRow[], columns: Columns): Plan {
  const groups = new Map<string, RowGroup>();
  const faults = new Map<number, DeliveryError>();
  const odd = new Map<number, string>();
  rows.forEach(({ values }, index) => {
    const stray = [...values.keys()].find((name) => columns.get(name)?.isGenerated ?? true);
    if (stray !== undefined) return void odd.set(index, stray);
    try {
      const texts = [...values].map(([name, value]) =>
        textOf(value, columns.get(name)?.type ?? 'text', name),
      );
      groupFor([...values.keys()], groups, index, texts);
    } catch (error) {
      faults.set(index, asFault(error));
    }
  });
  const unknown = new Set(odd.values());
  if (odd.size < rows.length) {
    for (const [index, name] of odd) faults.set(index, strayColumn(name, columns));
  }
  return { groups: [...groups.values()], faults, unknown };
}

function groupFor(
  names: string[],
  groups: Map<string, RowGroup>,
  index: number,
  texts: readonly (string | null)[],
): void {
  // The order of keys in a payload means nothing.
  const order = names.map((_, at) => at).sort((a, b) => ((names[a] ?? '') < (names[b] ?? '') ? -1 : 1));
  const columns = order.map((at) => names[at] ?? '');
  const key = columns.join('\0');
  const group = groups.get(key) ?? { columns, indexes: [], values: [] };
  groups.set(key, group);
  group.indexes.push(index);
  group.values.push(order.map((at) => texts[at] ?? null));
}

/** A payload's own getters and toJSON may throw anything. */
function asFault(cause: unknown): DeliveryError {
  if (cause instanceof DeliveryError) return cause;
  const text = `a value can not be read: ${cause instanceof Error ? cause.message : String(cause)}`;
  return new DeliveryError('ERR_SLUICE_POSTGRES_ROW', text, { failure: 'permanent', cause });
}

function strayColumn(name: string, columns: Columns): DeliveryError {
  const text = columns.has(name)
    ? `428C9: the server computes the column ${name} itself`
    : `42703: the table has no column ${name}`;
  return new DeliveryError('ERR_SLUICE_POSTGRES_ROW', text, { failure: 'permanent' });
}
