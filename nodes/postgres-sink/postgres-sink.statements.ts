/** The statements that store a group of rows. */
import { quoted } from './postgres-sink.names';
import type { RowGroup } from './postgres-sink.columns';

/** PostgreSQL counts a statement's parameters in 16 bits. */
const MAX_PARAMETERS = 65_535;

export interface Conflict {
  /** Columns of the unique key; empty: any unique key of the table. */
  readonly keyColumns: readonly string[];
  readonly action: 'nothing' | 'update';
}

export interface Statement {
  readonly text: string;
  readonly values: (string | null)[];
}

const columnList = ({ columns }: RowGroup) => columns.map(quoted).join(', ');

export const copyStatement = (table: string, group: RowGroup) =>
  `COPY ${table} (${columnList(group)}) FROM STDIN`;

const COPY_ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

/** The rows in COPY's text format. */
export function copyText({ values }: RowGroup): string {
  let text = '';
  for (const row of values) {
    text += `${row
      .map((value) =>
        value === null ? '\\N' : value.replace(/[\\\n\r\t]/g, (found) => COPY_ESCAPES[found] ?? found),
      )
      .join('\t')}\n`;
  }
  return text;
}

/** The row that COPY failed at, counted from 0: `COPY readings, line 3, column v: "abc"`. */
export function copyLine(where: unknown): number | undefined {
  const line = typeof where === 'string' ? /^COPY [^\n]*?, line (\d+)/.exec(where)?.[1] : undefined;
  return line === undefined ? undefined : Number(line) - 1;
}

/** INSERT statements with at most as many parameters as the protocol can count. */
export function insertStatements(table: string, group: RowGroup, conflict: Conflict): Statement[] {
  const width = group.columns.length;
  const rowsEach = Math.max(1, Math.floor(MAX_PARAMETERS / width));
  const statements: Statement[] = [];
  for (let start = 0; start < group.values.length; start += rowsEach) {
    const rows = group.values.slice(start, start + rowsEach);
    const tuples = rows.map(
      (_, row) => `(${group.columns.map((__, column) => `$${row * width + column + 1}`).join(', ')})`,
    );
    const text = `INSERT INTO ${table} (${columnList(group)}) VALUES ${tuples.join(', ')} ${onConflict(group, conflict)}`;
    statements.push({ text, values: rows.flat() });
  }
  return statements;
}

function onConflict(group: RowGroup, { keyColumns, action }: Conflict): string {
  const target = keyColumns.length > 0 ? ` (${keyColumns.map(quoted).join(', ')})` : '';
  const others = group.columns.filter((column) => !keyColumns.includes(column));
  if (action === 'nothing' || others.length === 0) return `ON CONFLICT${target} DO NOTHING`;
  const sets = others.map((column) => `${quoted(column)} = EXCLUDED.${quoted(column)}`);
  return `ON CONFLICT${target} DO UPDATE SET ${sets.join(', ')}`;
}
