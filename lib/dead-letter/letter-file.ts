/** The worker's half of the dead-letter store: applies the calls of many batches in one transaction. */
import type Database from 'better-sqlite3';
import { faultOf, type Fault } from '../sqlite/faults';
import { LETTER_STATES, type Halt, type PlaceQuota } from './contract';
import { PlaceTotals } from './place-totals';
import type { ChangeOp, CommitBatch, Committed, Op, ParkOp } from './wire';

const CLOSED = LETTER_STATES.indexOf('resolved');
const OPEN = LETTER_STATES.indexOf('open');
const REPLAYING = LETTER_STATES.indexOf('replaying');

interface Removed {
  readonly state: number;
  readonly bytes: number;
}

export class LetterFile {
  readonly totals: PlaceTotals;
  readonly #db: Database.Database;
  readonly #insert;
  readonly #byKey;
  readonly #stateOf;
  readonly #setState;
  readonly #claim;
  readonly #trimClosed;
  readonly #trimOpen;
  readonly #halt;
  readonly #unhalt;
  readonly #next;
  /** Id of the newest letter of the transaction that is under way. */
  #newest = 0;

  constructor(db: Database.Database) {
    this.#db = db;
    this.totals = new PlaceTotals(db);
    this.#insert = db.prepare<
      [number, number, string, number, number, number, number, string | null, string, string, Uint8Array]
    >(
      `INSERT INTO letter(id, place, state, rule, stage, changed_at, replays, bytes, derived, key, target, envelope, record)
       VALUES(?, ?, ${OPEN}, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?)`,
    );
    this.#byKey = db.prepare<[string], { id: number }>(
      `SELECT id FROM letter WHERE key = ? AND state < ${CLOSED}`,
    );
    this.#stateOf = db.prepare<[number], { place: number; state: number }>(
      'SELECT place, state FROM letter WHERE id = ?',
    );
    this.#setState = db.prepare<[number, number, string | null, number]>(
      'UPDATE letter SET state = ?, changed_at = ?, last_replay = coalesce(?, last_replay) WHERE id = ?',
    );
    this.#claim = db.prepare<[number, number]>(
      `UPDATE letter SET state = ${REPLAYING}, changed_at = ?, replays = replays + 1 WHERE id = ? AND state = ${OPEN}`,
    );
    const trim = (which: string) =>
      db.prepare<[number, number], Removed>(
        `DELETE FROM letter WHERE id IN (SELECT id FROM letter WHERE place = ? AND ${which} ORDER BY id LIMIT ?)
         RETURNING state, bytes`,
      );
    this.#trimClosed = trim(`state >= ${CLOSED}`);
    this.#trimOpen = trim(`state = ${OPEN}`);
    this.#halt = db.prepare<[string, number, string, number]>(
      'INSERT OR IGNORE INTO halt(rule, at, cause, letter) VALUES(?, ?, ?, ?)',
    );
    this.#unhalt = db.prepare<[string]>('DELETE FROM halt WHERE rule = ?');
    this.#next = db.prepare<[number]>("UPDATE counter SET value = ? WHERE name = 'next'");
  }

  /** What was being replayed when the process ended is open again. */
  reopenReplaying(): void {
    this.#db.exec(`UPDATE letter SET state = ${OPEN} WHERE state = ${REPLAYING}`);
  }

  nextId(): number {
    const next = this.#db
      .prepare<[], { value: number }>("SELECT value FROM counter WHERE name = 'next'")
      .get();
    const newest = this.#db.prepare<[], { id: number | null }>('SELECT max(id) AS id FROM letter').get();
    return Math.max(next?.value ?? 1, (newest?.id ?? 0) + 1);
  }

  halts(): Halt[] {
    const rows = this.#db
      .prepare<[], { rule: string; at: number; cause: string; letter: number }>('SELECT * FROM halt')
      .all();
    return rows.map(({ rule, at, cause, letter }) => ({
      rule,
      at,
      cause: JSON.parse(cause) as Halt['cause'],
      letterId: letter,
    }));
  }

  /**
   * Commits the batches as one transaction. If that fails and letters were to be parked, the rest is tried without them:
   * what was dealt with must be able to leave a full disk.
   */
  commit(batches: readonly CommitBatch[]): Committed[] {
    const all = this.#transact(batches, true);
    if (!('fault' in all)) return this.#committed(all, undefined);
    const parks = batches.some(({ ops }) => ops.some(({ kind }) => kind === 'park'));
    const rest = parks ? this.#transact(batches, false) : all;
    if (!('fault' in rest)) return this.#committed(rest, all.fault);
    return batches.map(() => ({
      kind: 'committed',
      fault: rest.fault,
      parkFault: all.fault,
      results: [],
      places: [],
    }));
  }

  #committed(results: readonly number[][], parkFault: Fault | undefined): Committed[] {
    const places = this.totals.committed();
    return results.map((of, index) => ({
      kind: 'committed',
      fault: undefined,
      parkFault,
      results: of,
      places: index === results.length - 1 ? places : [],
    }));
  }

  #transact(batches: readonly CommitBatch[], withParks: boolean): number[][] | { readonly fault: Fault } {
    try {
      this.#db.exec('BEGIN IMMEDIATE');
      this.#newest = 0;
      const results = batches.map(({ ops, records }) => ops.map((op) => this.#apply(op, records, withParks)));
      if (withParks) this.#trimAll(batches);
      if (withParks && this.#newest > 0) this.#next.run(this.#newest + 1);
      this.totals.write();
      this.#db.exec('COMMIT');
      return results;
    } catch (error) {
      if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
      this.totals.rolledBack();
      return { fault: faultOf(error) };
    }
  }

  #apply(op: Op, records: ArrayBuffer, withParks: boolean): number {
    if (op.kind === 'park') return withParks ? this.#park(op, records) : 0;
    return this.#change(op) ? 1 : 0;
  }

  #park(op: ParkOp, records: ArrayBuffer): number {
    const known = op.key === undefined ? undefined : this.#byKey.get(op.key);
    const id = known?.id ?? op.id;
    if (!known) {
      const record = new Uint8Array(records, op.start, op.end - op.start);
      const place = this.totals.idOf(op.place);
      this.#insert.run(
        op.id,
        place,
        op.rule,
        op.stage,
        op.at,
        op.bytes,
        op.derived,
        op.key ?? null,
        op.target,
        op.envelope,
        record,
      );
      const totals = this.totals.of(place);
      totals.open += 1;
      totals.bytes += op.bytes;
      this.#newest = Math.max(this.#newest, op.id);
    }
    if (op.halt) this.#halt.run(op.halt.rule, op.halt.at, JSON.stringify(op.halt.cause), id);
    return id;
  }

  #change(op: ChangeOp): boolean {
    switch (op.kind) {
      case 'unhalt':
        return this.#unhalt.run(op.rule).changes > 0;
      case 'claim':
        return this.#claim.run(op.at, op.id).changes > 0;
      case 'change':
        return this.#move(op);
    }
  }

  #move({ id, from, to, at, lastReplay }: Extract<ChangeOp, { kind: 'change' }>): boolean {
    const letter = this.#stateOf.get(id);
    if (!letter || LETTER_STATES[letter.state] !== from) return false;
    const next = LETTER_STATES.indexOf(to);
    this.#setState.run(next, at, lastReplay, id);
    const totals = this.totals.of(letter.place);
    const closes = Number(next >= CLOSED) - Number(letter.state >= CLOSED);
    totals.closed += closes;
    totals.open -= closes;
    return true;
  }

  #trimAll(batches: readonly CommitBatch[]): void {
    const all = new Map(batches.flatMap(({ quotas }) => [...quotas]));
    for (const [place, quota] of all) this.#trim(this.totals.idOf(place), quota);
  }

  /** The oldest of those that are settled go first; an open one only where there is no other. */
  #trim(place: number, { maxRows, maxBytes }: PlaceQuota): void {
    const totals = this.totals.of(place);
    for (;;) {
      const overRows = totals.open + totals.closed - maxRows;
      if (overRows <= 0 && totals.bytes <= maxBytes) return;
      // The newest stays, whatever its size.
      if (totals.open + totals.closed <= 1) return;
      const wanted = Math.max(1, overRows);
      const removed =
        totals.closed > 0 ? this.#trimClosed.all(place, wanted) : this.#trimOpen.all(place, wanted);
      // What is left is being replayed.
      if (removed.length === 0) return;
      for (const { state, bytes } of removed) {
        totals.bytes -= bytes;
        totals.trimmed += 1;
        if (state >= CLOSED) totals.closed -= 1;
        else {
          totals.open -= 1;
          totals.trimmedOpen += 1;
        }
      }
    }
  }
}
