/** The one row of counters, in memory as of the running transaction. */
import type { Database, Statement } from 'better-sqlite3';
import { FileFault } from '../sqlite/faults';
import { FORMAT } from './sqlite-schema';

export interface Counters {
  /** Seq of the next record. */
  next: number;
  /** Records and their bytes, without the dead. */
  records: number;
  bytes: number;
  /** Rows of the table `parked`, those on lease included. */
  parked: number;
  dead: number;
  evicted: number;
  evictedBytes: number;
  deadTrimmed: number;
  nextDead: number;
}

export class CountersRow {
  readonly #read: Statement<[], Counters & { format: number }>;
  readonly #write: Statement<[Counters]>;

  constructor(db: Database) {
    this.#read = db.prepare(
      `SELECT format, next, records, bytes, parked, dead, evicted, evicted_bytes AS evictedBytes,
         dead_trimmed AS deadTrimmed, next_dead AS nextDead FROM meta`,
    );
    this.#write = db.prepare(
      `UPDATE meta SET next = $next, records = $records, bytes = $bytes, parked = $parked, dead = $dead,
         evicted = $evicted, evicted_bytes = $evictedBytes, dead_trimmed = $deadTrimmed, next_dead = $nextDead`,
    );
  }

  /** Throws FileFault: `corrupt` without the row, `newer` for frames of another format. */
  read(): Counters {
    const row = this.#read.get();
    if (!row) throw new FileFault('corrupt', 'no counters');
    const { format, ...counters } = row;
    if (format > FORMAT) throw new FileFault('newer', `format ${format}, this one knows ${FORMAT}`);
    return counters;
  }

  write(counters: Counters): void {
    this.#write.run(counters);
  }
}
