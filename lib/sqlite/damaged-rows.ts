import type Database from 'better-sqlite3';

/** Rows of a damaged table: from the front until something can't be read, then from the back until there. */
export function* readableRows<Row>(
  from: Database.Database,
  table: string,
  /** Its integer primary key; each row also has it as `id`. */
  key: string,
): Generator<Row & { readonly id: number }> {
  let low = -1;
  let high = Number.MAX_SAFE_INTEGER;
  for (const order of ['ASC', 'DESC'] as const) {
    const next = attempt(() =>
      from.prepare<[number, number], Row & { id: number }>(
        `SELECT ${key} AS id, * FROM ${table} WHERE ${key} > ? AND ${key} < ? ORDER BY ${key} ${order} LIMIT 1`,
      ),
    );
    for (;;) {
      const row = attempt(() => next?.get(low, high));
      if (!row) break;
      if (order === 'ASC') low = row.id;
      else high = row.id;
      yield row;
    }
  }
}

function attempt<Result>(action: () => Result): Result | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
