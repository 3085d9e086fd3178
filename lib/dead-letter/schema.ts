/**
 * The file of the dead letters. `letter.id` is sequential, so that the rows of one commit share pages. `stage` and
 * `state` are positions in their lists. Totals are kept by place in the same transaction: opening counts nothing.
 * `halt` says which rules are stopped, and why, across restarts.
 */
export const APPLICATION_ID = 0x534c4444; // "SLDD"

export const MIGRATIONS: readonly string[] = [
  `CREATE TABLE place(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, open INTEGER NOT NULL DEFAULT 0,
     closed INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0,
     trimmed_open INTEGER NOT NULL DEFAULT 0, trimmed INTEGER NOT NULL DEFAULT 0);
   CREATE TABLE letter(id INTEGER PRIMARY KEY, place INTEGER NOT NULL, state INTEGER NOT NULL,
     rule TEXT NOT NULL, stage INTEGER NOT NULL, changed_at INTEGER NOT NULL, replays INTEGER NOT NULL,
     bytes INTEGER NOT NULL, derived INTEGER NOT NULL, last_replay TEXT, key TEXT, target TEXT NOT NULL, envelope TEXT NOT NULL, record BLOB NOT NULL);
   CREATE INDEX letter_place ON letter(place, id);
   CREATE INDEX letter_rule ON letter(rule, id);
   CREATE INDEX letter_closed ON letter(place, id) WHERE state >= 2;
   CREATE INDEX letter_replaying ON letter(id) WHERE state = 1;
   CREATE UNIQUE INDEX letter_key ON letter(key) WHERE key IS NOT NULL AND state < 2;
   CREATE TABLE halt(rule TEXT PRIMARY KEY, at INTEGER NOT NULL, cause TEXT NOT NULL, letter INTEGER NOT NULL);
   CREATE TABLE counter(name TEXT PRIMARY KEY, value INTEGER NOT NULL);
   INSERT INTO counter VALUES('next', 1)`,
];
