/**
 * The queue's file. Records are stored in chunks: one row holds all that was committed together, up to 256 KB, because
 * rows of one record each cost twice as much. Counters are kept, never computed: a count over the table would take
 * longer the fuller the queue is.
 *
 * chunk    queued and leased records: `seq` of the first, how many, when appended, frames `u32le length · record`, crc32
 * settled  which records of a chunk are gone, one bit each; no row: none
 * parked   records that failed or were moved out of an old chunk, one row each
 * dead     records given up, oldest trimmed
 * keys     idempotency keys of one commit, JSON `[seq, key, …]`, by its last seq, and when it was
 * lost     which of the records with a key were evicted or given up
 * leased   the one row of what is out for delivery: a cursor into the chunks, and the parked ones as f64 each
 * suspect  how often the process ended while a record was out, until its next verdict
 * meta     the one row of counters; `next` is never set back, so that a seq is never used twice
 * probe    scratch: written to find out whether a full disk has room again
 */
export const APPLICATION_ID = 0x5351_7575;

/** Version of the frames inside `chunk.data` and `parked.data`. */
export const FORMAT = 1;

export const MIGRATIONS: readonly string[] = [
  `CREATE TABLE chunk(first INTEGER PRIMARY KEY, n INTEGER NOT NULL, at INTEGER NOT NULL, crc INTEGER NOT NULL,
     data BLOB NOT NULL);
   CREATE TABLE settled(first INTEGER PRIMARY KEY, bits BLOB NOT NULL);
   CREATE TABLE parked(seq INTEGER PRIMARY KEY, due_at INTEGER NOT NULL, attempts INTEGER NOT NULL,
     unknowns INTEGER NOT NULL, at INTEGER NOT NULL, data BLOB NOT NULL);
   CREATE INDEX parked_due ON parked(due_at);
   CREATE TABLE dead(id INTEGER PRIMARY KEY, seq INTEGER NOT NULL, reason TEXT NOT NULL, code TEXT NOT NULL,
     at INTEGER NOT NULL, attempts INTEGER NOT NULL, data BLOB NOT NULL);
   CREATE TABLE keys(last INTEGER PRIMARY KEY, entries TEXT NOT NULL);
   CREATE TABLE probe(id INTEGER PRIMARY KEY, data BLOB NOT NULL);
   CREATE TABLE meta(id INTEGER PRIMARY KEY CHECK (id = 1), format INTEGER NOT NULL, next INTEGER NOT NULL,
     records INTEGER NOT NULL, bytes INTEGER NOT NULL, parked INTEGER NOT NULL, dead INTEGER NOT NULL,
     evicted INTEGER NOT NULL, evicted_bytes INTEGER NOT NULL, dead_trimmed INTEGER NOT NULL,
     next_dead INTEGER NOT NULL);
   INSERT INTO meta VALUES(1, ${FORMAT}, 1, 0, 0, 0, 0, 0, 0, 0, 1)`,
  `ALTER TABLE keys ADD COLUMN at INTEGER NOT NULL DEFAULT 0;
   CREATE TABLE lost(seq INTEGER PRIMARY KEY)`,
  `CREATE TABLE leased(id INTEGER PRIMARY KEY CHECK (id = 1), cursor INTEGER NOT NULL, parked BLOB NOT NULL);
   INSERT INTO leased VALUES(1, 0, x'');
   CREATE TABLE suspect(seq INTEGER PRIMARY KEY, crashes INTEGER NOT NULL)`,
];
