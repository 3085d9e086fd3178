/** Records in rows of their own: those that wait for another attempt, and the dead. */
import type { Database, Statement } from 'better-sqlite3';
import { HELD, type ParkedRecord } from './contract';

const MAX_READ_BYTES = 4 * 2 ** 20;

export interface ParkedRow {
  readonly seq: number;
  readonly attempts: number;
  readonly unknowns: number;
  readonly at: number;
  readonly data: Buffer;
}

export class ParkedRows {
  readonly #insert: Statement<[number, number, number, number, number, Uint8Array]>;
  readonly #postpone: Statement<[number, number, number, number, number]>;
  readonly #hasten: Statement<[number, number]>;
  readonly #delete: Statement<[number], { bytes: number }>;
  readonly #get: Statement<[number], ParkedRow>;
  readonly #due: Statement<[number, number], { seq: number }>;
  readonly #byDue: Statement<[], { seq: number; due_at: number }>;
  readonly #bySeq: Statement<[], { seq: number; bytes: number }>;
  readonly #oldest: Statement<[], { at: number }>;
  readonly #after: Statement<[number], ParkedRecord>;
  readonly #release: Statement<[]>;

  constructor(db: Database) {
    this.#insert = db.prepare(
      'INSERT INTO parked(seq, due_at, attempts, unknowns, at, data) VALUES(?, ?, ?, ?, ?, ?)',
    );
    this.#postpone = db.prepare(
      'UPDATE parked SET due_at = ?, attempts = attempts + ?, unknowns = unknowns * ? + ? WHERE seq = ?',
    );
    this.#hasten = db.prepare(`UPDATE parked SET due_at = min(due_at - ?, ?) WHERE due_at < ${HELD}`);
    this.#delete = db.prepare('DELETE FROM parked WHERE seq = ? RETURNING length(data) AS bytes');
    this.#get = db.prepare('SELECT seq, attempts, unknowns, at, data FROM parked WHERE seq = ?');
    this.#due = db.prepare('SELECT seq FROM parked WHERE due_at <= ? ORDER BY due_at, seq LIMIT ?');
    this.#byDue = db.prepare(`SELECT seq, due_at FROM parked WHERE due_at < ${HELD} ORDER BY due_at, seq`);
    this.#bySeq = db.prepare('SELECT seq, length(data) AS bytes FROM parked ORDER BY seq');
    this.#oldest = db.prepare('SELECT at FROM parked ORDER BY seq LIMIT 1');
    this.#after = db.prepare(
      'SELECT seq, due_at AS dueAt, data AS record FROM parked WHERE seq > ? ORDER BY seq',
    );
    this.#release = db.prepare(
      `UPDATE parked SET due_at = coalesce((SELECT max(due_at) FROM parked WHERE due_at < ${HELD}), 0)
       WHERE due_at >= ${HELD}`,
    );
  }

  get(seq: number): ParkedRow | undefined {
    return this.#get.get(seq);
  }

  add(row: Omit<ParkedRow, 'data'>, data: Uint8Array, dueAt: number): void {
    this.#insert.run(row.seq, dueAt, row.attempts, row.unknowns, row.at, data);
  }

  /** `keepUnknowns` is false when the delivery ended otherwise, which ends the row of unknown ones. */
  postpone(
    seq: number,
    dueAt: number,
    spent: { attempts: number; unknowns: number; keepUnknowns: boolean },
  ): void {
    this.#postpone.run(dueAt, spent.attempts, spent.keepUnknowns ? 1 : 0, spent.unknowns, seq);
  }

  /** The clock was set back: what waited goes on waiting as long as it was to, and none longer than `longestMs`. */
  hasten(backMs: number, now: number, longestMs: number): void {
    this.#hasten.run(backMs, now + longestMs);
  }

  /** Held ones are due with the last of the others. */
  releaseHeld(): void {
    this.#release.run();
  }

  /** Bytes of the record that was deleted. */
  delete(seq: number): number {
    return this.#delete.get(seq)?.bytes ?? 0;
  }

  /** Those due at `now`, the longest due first. */
  due(now: number, limit: number): number[] {
    return this.#due.all(now, limit).map(({ seq }) => seq);
  }

  /** Due time of the first that isn't in `except`. */
  nextDueAt(except: { has(seq: number): boolean }): number | undefined {
    for (const { seq, due_at } of this.#byDue.iterate()) if (!except.has(seq)) return due_at;
    return undefined;
  }

  /** The oldest that aren't in `except`, until they make up `bytes`. */
  oldest(bytes: number, except: { has(seq: number): boolean }): number[] {
    const seqs: number[] = [];
    let sum = 0;
    for (const row of this.#bySeq.iterate()) {
      if (sum >= bytes) break;
      if (except.has(row.seq)) continue;
      seqs.push(row.seq);
      sum += row.bytes;
    }
    return seqs;
  }

  /** Those after `seq` that aren't in `except`, oldest first; a bounded number of bytes, at least one. */
  after(seq: number, limit: number, except: { has(seq: number): boolean }): ParkedRecord[] {
    const rows: ParkedRecord[] = [];
    let bytes = 0;
    for (const row of this.#after.iterate(seq)) {
      if (rows.length >= limit || bytes >= MAX_READ_BYTES) break;
      if (except.has(row.seq)) continue;
      rows.push(row);
      bytes += row.record.byteLength;
    }
    return rows;
  }

  get oldestStoredAt(): number | undefined {
    return this.#oldest.get()?.at;
  }
}

export class DeadRows {
  readonly #insert: Statement<[number, number, string, string, number, number, Uint8Array]>;
  readonly #trim: Statement<[number]>;

  constructor(db: Database) {
    this.#insert = db.prepare(
      'INSERT INTO dead(id, seq, reason, code, at, attempts, data) VALUES(?, ?, ?, ?, ?, ?, ?)',
    );
    this.#trim = db.prepare('DELETE FROM dead WHERE id IN (SELECT id FROM dead ORDER BY id LIMIT ?)');
  }

  add(
    id: number,
    row: ParkedRow | { seq: number; attempts: number; data: Uint8Array },
    reason: string,
    code: string,
    now: number,
  ): void {
    this.#insert.run(id, row.seq, reason, code, now, row.attempts, row.data);
  }

  /** Deletes the oldest. */
  trim(count: number): void {
    this.#trim.run(count);
  }
}
