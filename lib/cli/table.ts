import { requireOptional } from '../packages/optional-package';

const CLI_TABLE = { name: 'cli-table3', install: 'cli-table3@0.6', neededFor: 'for tables with frames' };

type Cell = string | number | boolean | null | undefined;

/** Names come from flows: what a terminal would obey, and what would break a row, is shown as `\u001b` and the like. */
export function printable(value: unknown): string {
  return String(value ?? '').replace(
    /\p{Cc}|[\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  );
}

/** Rows under their heads: as a table with cli-table3 where it is installed, else in aligned columns. */
export function table(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const cells = rows.map((row) => row.map(printable));
  return withFrames(head, cells) ?? aligned([head, ...cells]);
}

function withFrames(head: readonly string[], rows: readonly (readonly string[])[]): string | undefined {
  let Table: typeof import('cli-table3');
  try {
    Table = requireOptional<typeof Table>(CLI_TABLE);
  } catch {
    return undefined;
  }
  const made = new Table({ head: [...head], style: { head: [], border: [] } });
  made.push(...rows.map((row) => [...row]));
  return made.toString();
}

function aligned(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
