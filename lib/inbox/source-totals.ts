/** Per-source totals inside the worker: kept in the file by the transaction that changes them, and cached here. */
import type Database from 'better-sqlite3';
import type { SourceCounts } from './batch';

interface Totals {
  readonly id: number;
  readonly name: string;
  pending: number;
  parked: number;
  bytes: number;
}
export type TotalsChange = { pending: number; parked: number; bytes: number };

export class SourceTotals {
  readonly #byId = new Map<number, Totals>();
  readonly #byName = new Map<string, Totals>();
  readonly #changes = new Map<number, TotalsChange>();
  #created: Totals[] = [];
  readonly #insert: Database.Statement<[string]>;
  readonly #update: Database.Statement<[TotalsChange & { id: number }]>;
  readonly #oldest: Database.Statement<[number], { accepted_at: number }>;

  constructor(db: Database.Database) {
    this.#insert = db.prepare('INSERT INTO source(name, pending, parked, bytes) VALUES(?, 0, 0, 0)');
    this.#update = db.prepare(
      `UPDATE source SET pending = pending + @pending, parked = parked + @parked, bytes = bytes + @bytes WHERE id = @id`,
    );
    this.#oldest = db.prepare('SELECT accepted_at FROM inbox WHERE source = ? ORDER BY id LIMIT 1');
    for (const row of db.prepare<[], Totals>('SELECT id, name, pending, parked, bytes FROM source').all()) {
      this.#cache({ ...row });
    }
  }

  /** The source's number, given to it in the open transaction if it is new. */
  idOf(name: string): number {
    const known = this.#byName.get(name);
    if (known) return known.id;
    const id = Number(this.#insert.run(name).lastInsertRowid);
    const created = { id, name, pending: 0, parked: 0, bytes: 0 };
    this.#cache(created);
    this.#created.push(created);
    return id;
  }

  find(name: string): number | undefined {
    return this.#byName.get(name)?.id;
  }

  nameOf(id: number): string {
    return this.#byId.get(id)?.name ?? '';
  }

  change(id: number, by: TotalsChange): void {
    const sum = this.#changes.get(id);
    if (!sum) this.#changes.set(id, { ...by });
    else {
      sum.pending += by.pending;
      sum.parked += by.parked;
      sum.bytes += by.bytes;
    }
  }

  /** Writes the changes into the open transaction. */
  write(): void {
    for (const [id, change] of this.#changes) this.#update.run({ ...change, id });
  }

  /** After the commit: the new counts of the sources that changed. */
  committed(): SourceCounts[] {
    const counts: SourceCounts[] = [];
    for (const [id, change] of this.#changes) {
      const totals = this.#byId.get(id);
      if (!totals) continue;
      totals.pending += change.pending;
      totals.parked += change.parked;
      totals.bytes += change.bytes;
      counts.push(this.#countsOf(totals));
    }
    this.#changes.clear();
    this.#created = [];
    return counts;
  }

  rolledBack(): void {
    for (const { id, name } of this.#created) {
      this.#byId.delete(id);
      this.#byName.delete(name);
    }
    this.#created = [];
    this.#changes.clear();
  }

  all(): SourceCounts[] {
    return [...this.#byId.values()].map((totals) => this.#countsOf(totals));
  }

  #cache(totals: Totals): void {
    this.#byId.set(totals.id, totals);
    this.#byName.set(totals.name, totals);
  }

  #countsOf({ id, name, pending, parked, bytes }: Totals): SourceCounts {
    const oldestAcceptedAt = pending === 0 ? undefined : this.#oldest.get(id)?.accepted_at;
    return { source: name, pending, parked, bytes, oldestAcceptedAt };
  }
}
