/** Copies what can still be read of a damaged file into the new one; the damaged file stays as it is. */
import Database from 'better-sqlite3';
import { readableRows } from '../sqlite/damaged-rows';

interface StoredLetter {
  readonly place: number;
  readonly state: number;
  readonly bytes: number;
}
interface Place {
  readonly name: string;
}

/** Returns how many letters were saved. Rules that were stopped stay so, as far as that can be read. */
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
  const addPlace = db.prepare('INSERT OR IGNORE INTO place(id, name) VALUES(?, ?)');
  const places = new Set<number>();
  for (const { id, name } of readableRows<Place>(from, 'place', 'id')) {
    addPlace.run(id, name);
    places.add(id);
  }
  const insert = insertInto(db, 'letter');
  const count = db.prepare(
    'UPDATE place SET open = open + ?, closed = closed + ?, bytes = bytes + ? WHERE id = ?',
  );
  let saved = 0;
  for (const row of readableRows<StoredLetter>(from, 'letter', 'id')) {
    if (!places.has(row.place)) continue;
    insert.run(row);
    const isOpen = row.state < 2 ? 1 : 0;
    count.run(isOpen, 1 - isOpen, row.bytes, row.place);
    saved += 1;
  }
  const halt = insertInto(db, 'halt');
  for (const row of readableRows(from, 'halt', 'rowid')) halt.run(row);
  return saved;
}

function insertInto(db: Database.Database, table: string): Database.Statement<[object]> {
  const columns = (db.pragma(`table_info(${table})`) as { name: string }[]).map(({ name }) => `$${name}`);
  return db.prepare(`INSERT OR IGNORE INTO ${table} VALUES(${columns.join(', ')})`);
}
