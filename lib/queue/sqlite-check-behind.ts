/**
 * The check of a file that is too large to be checked when it is opened: reads every row of data, a little at a time, and
 * compares the checksums of chunks. It begins and ends a read each time, so that it never holds up the log.
 */
import type { Database, Statement } from 'better-sqlite3';
import { Chunk } from './sqlite-chunk';

const STEP_BYTES = 2 ** 20;

interface Row {
  readonly id: number;
  readonly data: Buffer;
}

export class CheckBehind {
  readonly #tables: readonly { readonly next: Statement<[number], Row>; check(row: Row): void }[];
  #table = 0;
  #after = -1;

  constructor(db: Database) {
    const rows = (table: string, key: string) =>
      db.prepare<[number], Row>(
        `SELECT ${key} AS id, * FROM ${table} WHERE ${key} > ? ORDER BY ${key} LIMIT 1`,
      );
    const read = () => undefined;
    this.#tables = [
      {
        next: rows('chunk', 'first'),
        check: (row) => Chunk.read({ ...(row as Row & Parameters<typeof Chunk.read>[0]), bits: null }),
      },
      { next: rows('parked', 'seq'), check: read },
      { next: rows('dead', 'id'), check: read },
    ];
  }

  /** Looks at the next rows; false when all were seen. Throws FileFault `corrupt`, or what SQLite throws. */
  step(): boolean {
    for (let bytes = 0; bytes < STEP_BYTES;) {
      const table = this.#tables[this.#table];
      if (!table) return false;
      const row = table.next.get(this.#after);
      if (row) {
        table.check(row);
        this.#after = row.id;
        bytes += row.data.length;
      } else {
        this.#table++;
        this.#after = -1;
      }
    }
    return true;
  }
}
