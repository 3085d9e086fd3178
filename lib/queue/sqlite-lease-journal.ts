/**
 * Which records are out for delivery, in the file, so that the next process knows which ones may have ended this one.
 * One small row for all of them: records leave their chunks in order, so a cursor tells those; parked ones are listed.
 * It is written with the lease, before anything can be sent, without an `fsync`: what a process wrote outlives it.
 */
import type { Database, Statement } from 'better-sqlite3';

interface Row {
  readonly cursor: number;
  readonly parked: Buffer;
}

export class LeaseJournal {
  readonly #read: Statement<[], Row>;
  readonly #write: Statement<[number, Uint8Array]>;
  /** Records of chunks below this seq were given out, but for those that were settled. */
  #cursor = 0;
  #changed = false;

  constructor(db: Database) {
    this.#read = db.prepare('SELECT cursor, parked FROM leased');
    this.#write = db.prepare('UPDATE leased SET cursor = ?, parked = ?');
    this.#cursor = this.#read.get()?.cursor ?? 0;
  }

  /** What was out when the row was written last. */
  read(): { readonly cursor: number; readonly parked: readonly number[] } {
    const row = this.#read.get();
    if (!row) return { cursor: 0, parked: [] };
    const bytes = new Uint8Array(row.parked);
    return { cursor: row.cursor, parked: [...new Float64Array(bytes.buffer, 0, bytes.length >> 3)] };
  }

  /** Whether the row tells of any. */
  get left(): boolean {
    const { cursor, parked } = this.read();
    return cursor > 0 || parked.length > 0;
  }

  /** The cursor may be set back to look at chunks again; what was given out stays given out. */
  advance(cursor: number): void {
    if (cursor <= this.#cursor) return;
    this.#cursor = cursor;
    this.#changed = true;
  }

  /** The parked records that are out changed, or the last write was taken back. */
  touch(): void {
    this.#changed = true;
  }

  get changed(): boolean {
    return this.#changed;
  }

  save(parked: readonly number[]): void {
    if (!this.#changed) return;
    this.#write.run(this.#cursor, new Uint8Array(Float64Array.from(parked).buffer));
    this.#changed = false;
  }

  /** Nothing is out any more. */
  clear(): void {
    this.#cursor = 0;
    this.#changed = true;
    this.save([]);
  }
}
