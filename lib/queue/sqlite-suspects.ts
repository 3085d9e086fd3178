/**
 * Records that were out when the process ended, and how often in a row: one of them may have ended it. After a first
 * time few of them are out together, after a second one nothing else is out with them, so that the third names the one.
 * A verdict clears a record. None holds up the others for long: one that ends a process does it at once.
 */
import type { Database, Statement } from 'better-sqlite3';
import { MAX_CRASHES } from './contract';

const TOGETHER = 16;
const HOLD_MS = 30_000;

export class Suspects {
  readonly #crashes = new Map<number, number>();
  /** Since when each that is out is out, Unix ms. */
  readonly #out = new Map<number, number>();
  #refusedSince: number | undefined;
  readonly #all: Statement<[], { seq: number; crashes: number }>;
  readonly #put: Statement<[number, number]>;
  readonly #delete: Statement<[number]>;

  constructor(db: Database) {
    this.#all = db.prepare('SELECT seq, crashes FROM suspect');
    this.#put = db.prepare('INSERT OR REPLACE INTO suspect VALUES(?, ?)');
    this.#delete = db.prepare('DELETE FROM suspect WHERE seq = ?');
    this.reload();
  }

  /** After a rollback: as the file has it. */
  reload(): void {
    this.#crashes.clear();
    for (const { seq, crashes } of this.#all.iterate()) this.#crashes.set(seq, crashes);
  }

  crashesOf(seq: number): number {
    return this.#crashes.get(seq) ?? 0;
  }

  /** The process ended while the record was out. */
  crashed(seq: number): void {
    const crashes = this.crashesOf(seq) + 1;
    this.#crashes.set(seq, crashes);
    this.#put.run(seq, crashes);
  }

  clear(seq: number): void {
    if (this.#crashes.delete(seq)) this.#delete.run(seq);
  }

  /** Whether a record may go out beside the `out` ones that are; if so, it is. */
  mayGo(seq: number, out: number, now: number): boolean {
    if (this.#crashes.size === 0) return true;
    const crashes = this.crashesOf(seq);
    if (!this.#allows(crashes, out, now)) {
      this.#refusedSince ??= now;
      // The clock may have been set back.
      const waited = Math.abs(now - this.#refusedSince);
      if (waited < HOLD_MS) return false;
    } else this.#refusedSince = undefined;
    if (crashes > 0) this.#out.set(seq, now);
    return true;
  }

  ended(seq: number): void {
    this.#out.delete(seq);
  }

  #allows(crashes: number, out: number, now: number): boolean {
    // It isn't delivered any more.
    if (crashes >= MAX_CRASHES) return true;
    const holding = [...this.#out].filter(([, since]) => Math.abs(now - since) < HOLD_MS);
    if (crashes === 0) return holding.length === 0;
    if (crashes === 1) return out < TOGETHER && holding.every(([seq]) => this.crashesOf(seq) < 2);
    return out === 0;
  }
}
