/**
 * The inbox's file. What is written per record decides its rate, so nothing here is keyed by anything random:
 *
 * - `inbox.id` is sequential: the rows of one group commit share pages, and `inbox_source` grows at one place a source.
 * - The first attempt is stored with the row; only a replay updates it.
 * - `settled.id` is `expiry minute * 2^26 + n`: rows of one dedupe window are appended at one place, expiry is a range
 *   delete, and nobody looks a key up here: all live keys are in memory (settled-table.ts). A key as primary key would
 *   dirty a page of 16 KB for each record once there are millions.
 * - Totals are kept per source in the same transaction, so that opening the file counts nothing.
 */
export const APPLICATION_ID = 0x534c4942; // "SLIB"

export const MIGRATIONS: readonly string[] = [
  `CREATE TABLE source(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
     pending INTEGER NOT NULL, parked INTEGER NOT NULL, bytes INTEGER NOT NULL);
   CREATE TABLE inbox(id INTEGER PRIMARY KEY, source INTEGER NOT NULL, key TEXT NOT NULL,
     accepted_at INTEGER NOT NULL, attempts INTEGER NOT NULL, record BLOB NOT NULL);
   CREATE INDEX inbox_source ON inbox(source);
   CREATE TABLE parked(id INTEGER PRIMARY KEY, source INTEGER NOT NULL, key TEXT NOT NULL,
     accepted_at INTEGER NOT NULL, attempts INTEGER NOT NULL, parked_at INTEGER NOT NULL,
     code TEXT NOT NULL, reason TEXT NOT NULL, record BLOB NOT NULL);
   CREATE TABLE settled(id INTEGER PRIMARY KEY, entry BLOB NOT NULL)`,
];
