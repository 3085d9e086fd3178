/** The worker's half of the inbox: applies the calls of many batches in one transaction, and reads rows back. */
import type Database from 'better-sqlite3';
import { faultOf, type Fault } from '../sqlite/faults';
import type { AcceptOp, CommitBatch, Committed, SettleOp } from './batch';
import type { InboxRow, ParkedRow } from './contract';
import { ENTRY_WORDS } from './settled-entry';
import { SettledRows } from './settled-rows';
import { SourceTotals } from './source-totals';

/** Bounds what one read hands over, whatever the number of rows asked for. */
const MAX_READ_BYTES = 8 * 2 ** 20;

interface StoredRow {
  readonly id: number;
  readonly source: number;
  readonly key: string;
  readonly accepted_at: number;
  readonly attempts: number;
  readonly record: Buffer;
}
type StoredParked = StoredRow & {
  readonly parked_at: number;
  readonly code: string;
  readonly reason: string;
};
interface Removed {
  readonly source: number;
  readonly bytes: number;
}
interface Applied {
  readonly attempts: number[];
  freedBytes: number;
}

const REMOVED = 'RETURNING source, length(record) AS bytes';

export class InboxFile {
  readonly totals: SourceTotals;
  readonly settled: SettledRows;
  readonly #db: Database.Database;
  readonly #insert;
  readonly #start;
  readonly #release;
  readonly #finish;
  readonly #finishParked;
  readonly #copyToParked;
  readonly #copyToInbox;
  readonly #pending;
  readonly #parked;

  /** `checkRoom` throws where no further record may be stored, though there would be space. */
  constructor(
    db: Database.Database,
    private readonly checkRoom: () => void,
  ) {
    this.#db = db;
    this.totals = new SourceTotals(db);
    this.settled = new SettledRows(db);
    this.#insert = db.prepare<[number, number, string, number, number, Uint8Array]>(
      'INSERT INTO inbox(id, source, key, accepted_at, attempts, record) VALUES(?, ?, ?, ?, ?, ?)',
    );
    this.#start = db.prepare<[number], { attempts: number }>(
      'UPDATE inbox SET attempts = attempts + 1 WHERE id = ? RETURNING attempts',
    );
    this.#release = db.prepare<[number]>('UPDATE inbox SET attempts = 0 WHERE id = ?');
    this.#finish = db.prepare<[number], Removed>(`DELETE FROM inbox WHERE id = ? ${REMOVED}`);
    this.#finishParked = db.prepare<[number], Removed>(`DELETE FROM parked WHERE id = ? ${REMOVED}`);
    this.#copyToParked = db.prepare<[number, string, string, number]>(
      `INSERT INTO parked(id, source, key, accepted_at, attempts, parked_at, code, reason, record)
       SELECT id, source, key, accepted_at, attempts, ?, ?, ?, record FROM inbox WHERE id = ?`,
    );
    this.#copyToInbox = db.prepare<[number]>(
      `INSERT INTO inbox(id, source, key, accepted_at, attempts, record)
       SELECT id, source, key, accepted_at, 0, record FROM parked WHERE id = ?`,
    );
    this.#pending = db.prepare<[number], StoredRow>('SELECT * FROM inbox WHERE source = ? ORDER BY id');
    this.#parked = db.prepare<[number, number], StoredParked>(
      'SELECT * FROM parked WHERE id > ? ORDER BY id LIMIT ?',
    );
  }

  /** One above every id in use. */
  nextId(): number {
    const newest = (table: string) =>
      this.#db.prepare<[], { id: number }>(`SELECT id FROM ${table} ORDER BY id DESC LIMIT 1`).get()?.id ?? 0;
    return Math.max(newest('inbox'), newest('parked')) + 1;
  }

  /**
   * Commits the batches as one transaction. If that fails and there were accepts in it, the rest is tried without them:
   * settled records must be able to leave a full disk.
   */
  commit(batches: readonly CommitBatch[]): Committed[] {
    const all = this.#transact(batches, true);
    if (!('fault' in all)) return this.#committed(batches, all, undefined);
    const rest = hasAccepts(batches) ? this.#transact(batches, false) : all;
    if (!('fault' in rest)) return this.#committed(batches, rest, all.fault);
    return batches.map(() => ({
      kind: 'committed',
      fault: rest.fault,
      acceptFault: all.fault,
      attempts: [],
      freedBytes: 0,
      counts: [],
    }));
  }

  #committed(
    batches: readonly CommitBatch[],
    applied: readonly Applied[],
    acceptFault: Fault | undefined,
  ): Committed[] {
    const counts = this.totals.committed();
    return batches.map((_, index) => ({
      kind: 'committed',
      fault: undefined,
      acceptFault,
      attempts: applied[index]?.attempts ?? [],
      freedBytes: applied[index]?.freedBytes ?? 0,
      counts: index === batches.length - 1 ? counts : [],
    }));
  }

  #transact(batches: readonly CommitBatch[], withAccepts: boolean): Applied[] | { readonly fault: Fault } {
    try {
      if (withAccepts && hasAccepts(batches)) this.checkRoom();
      this.#db.exec('BEGIN IMMEDIATE');
      const applied = batches.map((batch) => this.#apply(batch, withAccepts));
      this.totals.write();
      this.#db.exec('COMMIT');
      return applied;
    } catch (error) {
      if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
      this.totals.rolledBack();
      return { fault: faultOf(error) };
    }
  }

  #apply({ ops, records, remembered, forgetBefore }: CommitBatch, withAccepts: boolean): Applied {
    const applied: Applied = { attempts: [], freedBytes: 0 };
    let appended = remembered.length / ENTRY_WORDS;
    for (let at = 0; at < remembered.length; at += ENTRY_WORDS) {
      this.settled.append(remembered.subarray(at, at + ENTRY_WORDS));
    }
    for (const op of ops) {
      if (op.kind !== 'accept') this.#settle(op, applied);
      else if (withAccepts) this.#accept(op, records);
      if (op.kind === 'accept' && op.settled) appended += 1;
    }
    this.settled.forgetBefore(forgetBefore);
    // Twice what came in: under load, when there is no idle time, the file still shrinks to what is alive.
    if (appended > 0) this.settled.sweep(appended * 2);
    return applied;
  }

  #accept(op: AcceptOp, records: ArrayBuffer): void {
    const record = new Uint8Array(records, op.start, op.end - op.start);
    const source = this.totals.idOf(op.source);
    this.#insert.run(op.id, source, op.key, op.acceptedAt, op.attempts, record);
    this.totals.change(source, { pending: 1, parked: 0, bytes: record.byteLength });
    if (op.settled) this.settled.append(op.settled);
  }

  #settle(op: SettleOp, applied: Applied): void {
    switch (op.kind) {
      case 'start':
        applied.attempts.push(this.#start.get(op.id)?.attempts ?? 0);
        return;
      case 'release':
        this.#release.run(op.id);
        return;
      case 'finish':
        applied.freedBytes += this.#remove(op.id);
        return;
      case 'park':
        if (this.#copyToParked.run(op.at, op.code, op.reason, op.id).changes === 0) return;
        this.#moved(this.#finish.get(op.id), { pending: -1, parked: 1 });
        return;
      case 'unpark':
        if (this.#copyToInbox.run(op.id).changes === 0) return;
        this.#moved(this.#finishParked.get(op.id), { pending: 1, parked: -1 });
        return;
    }
  }

  #moved(row: Removed | undefined, change: { pending: number; parked: number }): void {
    if (row) this.totals.change(row.source, { ...change, bytes: 0 });
  }

  #remove(id: number): number {
    const pending = this.#finish.get(id);
    const parked = pending ? undefined : this.#finishParked.get(id);
    const row = pending ?? parked;
    if (!row) return 0;
    this.totals.change(row.source, {
      pending: pending ? -1 : 0,
      parked: parked ? -1 : 0,
      bytes: -row.bytes,
    });
    return row.bytes;
  }

  pending(source: string, limit: number, running: ReadonlySet<number>): InboxRow[] {
    const sourceId = this.totals.find(source);
    if (sourceId === undefined) return [];
    const rows = this.#pending.iterate(sourceId);
    return takeRows(rows, limit, (row) => (running.has(row.id) ? undefined : this.#rowOf(row)));
  }

  parked(limit: number, afterId: number): ParkedRow[] {
    const rows = this.#parked.iterate(afterId, limit);
    return takeRows(rows, limit, (row) => ({
      ...this.#rowOf(row),
      parkedAt: row.parked_at,
      code: row.code,
      reason: row.reason,
    }));
  }

  #rowOf({ id, source, key, accepted_at, attempts, record }: StoredRow): InboxRow {
    return { id, source: this.totals.nameOf(source), key, acceptedAt: accepted_at, attempts, record };
  }
}

function hasAccepts(batches: readonly CommitBatch[]): boolean {
  return batches.some(({ ops }) => ops.some(({ kind }) => kind === 'accept'));
}

/** Up to `limit` rows and a bounded number of bytes, at least one row. */
function takeRows<Stored extends StoredRow, Row>(
  rows: IterableIterator<Stored>,
  limit: number,
  rowOf: (stored: Stored) => Row | undefined,
): Row[] {
  const taken: Row[] = [];
  let bytes = 0;
  for (const stored of rows) {
    if (taken.length >= limit || bytes >= MAX_READ_BYTES) break;
    const row = rowOf(stored);
    if (row === undefined) continue;
    taken.push(row);
    bytes += stored.record.byteLength;
  }
  return taken;
}
