/**
 * Copies what can still be read of a damaged inbox into the new one: senders were told 200 for these records. The
 * damaged file stays as it is.
 */
import Database from 'better-sqlite3';
import { readableRows } from '../sqlite/damaged-rows';

interface Stored {
  readonly source: number;
  readonly record: Buffer;
}
interface Source {
  readonly name: string;
}

/** Returns how many accepted records were saved, parked ones included. */
export function salvage(damaged: string, db: Database.Database, nativeBinding: string | undefined): number {
  const from = new Database(damaged, {
    readonly: true,
    timeout: 0,
    ...(nativeBinding !== undefined && { nativeBinding }),
  });
  try {
    return db.transaction(() => copyAll(from, db))();
  } finally {
    from.close();
  }
}

function copyAll(from: Database.Database, db: Database.Database): number {
  const addSource = db.prepare('INSERT INTO source(id, name, pending, parked, bytes) VALUES(?, ?, 0, 0, 0)');
  const sources = new Set<number>();
  for (const { id, name } of readableRows<Source>(from, 'source', 'id')) {
    addSource.run(id, name);
    sources.add(id);
  }
  let saved = 0;
  for (const [table, counter] of [
    ['inbox', 'pending'],
    ['parked', 'parked'],
  ] as const) {
    const insert = insertInto(db, table);
    const count = db.prepare(`UPDATE source SET ${counter} = ${counter} + 1, bytes = bytes + ? WHERE id = ?`);
    for (const row of readableRows<Stored>(from, table, 'id')) {
      // Without its source nobody can run it; it stays in the damaged file.
      if (!sources.has(row.source)) continue;
      insert.run(row);
      count.run(row.record.length, row.source);
      saved += 1;
    }
  }
  const remember = insertInto(db, 'settled');
  for (const row of readableRows(from, 'settled', 'id')) remember.run(row);
  return saved;
}

function insertInto(db: Database.Database, table: string): Database.Statement<[object]> {
  const columns = (db.pragma(`table_info(${table})`) as { name: string }[]).map(({ name }) => `$${name}`);
  return db.prepare(`INSERT OR IGNORE INTO ${table} VALUES(${columns.join(', ')})`);
}
