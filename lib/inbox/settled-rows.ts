/** Remembered verdicts in the file: appended by expiry, deleted by range, read whole when the process starts. */
import type Database from 'better-sqlite3';
import { ENTRY_BYTES, ENTRY_WORDS, expiryMinuteOf } from './settled-entry';

const IDS_PER_MINUTE = 2 ** 26;
const PAGE_ROWS = 20_000;
/** Minutes of expiry that are being appended to: one per dedupe window in use, and their neighbours. */
const CACHED_MINUTES = 16;

export interface SettledPage {
  readonly entries: Uint32Array<ArrayBuffer>;
  readonly nextBeforeId: number | undefined;
}

export class SettledRows {
  readonly #insert: Database.Statement<[number, Uint8Array]>;
  readonly #lastBelow: Database.Statement<[number], { id: number }>;
  readonly #deleteBelow: Database.Statement<[number, number]>;
  readonly #page: Database.Statement<[number, number, number], { id: number; entry: Buffer }>;
  readonly #lastId = new Map<number, number>();
  #forgetBefore = 0;

  constructor(db: Database.Database) {
    this.#insert = db.prepare('INSERT INTO settled(id, entry) VALUES(?, ?)');
    this.#lastBelow = db.prepare('SELECT id FROM settled WHERE id < ? ORDER BY id DESC LIMIT 1');
    this.#deleteBelow = db.prepare(
      'DELETE FROM settled WHERE id IN (SELECT id FROM settled WHERE id < ? ORDER BY id LIMIT ?)',
    );
    this.#page = db.prepare(
      'SELECT id, entry FROM settled WHERE id < ? AND id >= ? ORDER BY id DESC LIMIT ?',
    );
  }

  append(entry: Uint32Array): void {
    const minute = expiryMinuteOf(entry);
    const id = (this.#lastId.get(minute) ?? this.#lastIn(minute)) + 1;
    this.#insert.run(id, new Uint8Array(entry.buffer, entry.byteOffset, ENTRY_BYTES));
    if (this.#lastId.size >= CACHED_MINUTES) this.#lastId.clear();
    this.#lastId.set(minute, id);
  }

  /** Deletes what expired, at most `limit` rows; says whether there may be more. */
  sweep(limit: number): boolean {
    if (this.#forgetBefore === 0) return false;
    return this.#deleteBelow.run(this.#forgetBefore * IDS_PER_MINUTE, limit).changes === limit;
  }

  forgetBefore(minute: number): void {
    this.#forgetBefore = Math.max(this.#forgetBefore, minute);
  }

  page(beforeId: number, fromMinute: number): SettledPage {
    const rows = this.#page.all(beforeId, fromMinute * IDS_PER_MINUTE, PAGE_ROWS);
    const entries = new Uint32Array(rows.length * ENTRY_WORDS);
    const bytes = Buffer.from(entries.buffer);
    rows.forEach(({ entry }, index) => entry.copy(bytes, index * ENTRY_BYTES, 0, ENTRY_BYTES));
    return { entries, nextBeforeId: rows.length === PAGE_ROWS ? rows.at(-1)?.id : undefined };
  }

  #lastIn(minute: number): number {
    const first = minute * IDS_PER_MINUTE;
    const last = this.#lastBelow.get(first + IDS_PER_MINUTE)?.id ?? 0;
    return last >= first ? last : first - 1;
  }
}
