/** What runs inside this process: our store, and what bounds it from above and from below. */
import Database from 'better-sqlite3';
import { fdatasync, write } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { openSqliteStore, type SqliteStore } from '#lib/queue/sqlite-store';
import type { Appender } from './load.mjs';

export async function ourStore(dir: string): Promise<Appender & { readonly store: SqliteStore }> {
  const store = await openSqliteStore({ file: join(dir, 'ours.db') });
  return { store, append: (record) => store.append(record), close: () => store.close() };
}

/** The limit: frames appended to a file by the thread pool, one fdatasync for all that wait, nothing else. */
export async function appendLog(dir: string): Promise<Appender> {
  const file = await open(join(dir, 'append.log'), 'w');
  let waiting: { record: Buffer; resolve: () => void; reject: (error: Error) => void }[] = [];
  let position = 0;
  let busy = false;
  let scheduled = false;
  const flush = () => {
    scheduled = false;
    if (busy || waiting.length === 0) return;
    busy = true;
    const group = waiting;
    waiting = [];
    const parts: Buffer[] = [];
    for (const { record } of group) {
      const head = Buffer.allocUnsafe(4);
      head.writeUInt32LE(record.length);
      parts.push(head, record);
    }
    const data = Buffer.concat(parts);
    const end = (error: Error | null) => {
      busy = false;
      for (const { resolve, reject } of group) {
        if (error) reject(error);
        else resolve();
      }
      setImmediate(flush);
    };
    write(file.fd, data, 0, data.length, position, (error) => {
      if (error) end(error);
      else fdatasync(file.fd, end);
    });
    position += data.length;
  };
  return {
    append: (record) =>
      new Promise<void>((resolve, reject) => {
        waiting.push({ record, resolve, reject });
        if (scheduled || busy) return;
        scheduled = true;
        setImmediate(flush);
      }),
    close: () => file.close(),
  };
}

/** What a queue does without group commit: a row and a durable commit for each record. */
export function commitEach(dir: string): Promise<Appender> {
  const db = new Database(join(dir, 'each.db'));
  db.exec(
    'PRAGMA page_size = 16384; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE record(seq INTEGER PRIMARY KEY, data BLOB NOT NULL)',
  );
  const insert = db.prepare('INSERT INTO record(data) VALUES(?)');
  return Promise.resolve({
    // The event loop gets its turn, as it must in a real program.
    append: (record: Buffer) =>
      new Promise<void>((resolve) =>
        setImmediate(() => {
          insert.run(record);
          resolve();
        }),
      ),
    close: () => Promise.resolve(void db.close()),
  });
}
