/** The worker's totals by place, kept in memory and written with the transaction that changes them. */
import type Database from 'better-sqlite3';
import type { PlaceState } from './wire';

export interface Totals {
  open: number;
  closed: number;
  bytes: number;
  trimmedOpen: number;
  trimmed: number;
}

interface Row extends Omit<Totals, 'trimmedOpen'> {
  readonly id: number;
  readonly name: string;
  readonly trimmed_open: number;
}

export class PlaceTotals {
  readonly #all;
  readonly #add;
  readonly #write;
  readonly #ids = new Map<string, number>();
  readonly #names = new Map<number, string>();
  #totals = new Map<number, Totals>();
  /** As they were before the transaction that is under way. */
  readonly #before = new Map<number, Totals | undefined>();

  constructor(db: Database.Database) {
    this.#all = db.prepare<[], Row>('SELECT * FROM place');
    this.#add = db.prepare<[string]>('INSERT INTO place(name) VALUES(?)');
    this.#write = db.prepare<[number, number, number, number, number, number]>(
      'UPDATE place SET open = ?, closed = ?, bytes = ?, trimmed_open = ?, trimmed = ? WHERE id = ?',
    );
    this.#load();
  }

  /** Adds a place that is new, so only within a transaction. */
  idOf(name: string): number {
    const known = this.#ids.get(name);
    if (known !== undefined) return known;
    const id = Number(this.#add.run(name).lastInsertRowid);
    this.#remember(id, name, { open: 0, closed: 0, bytes: 0, trimmedOpen: 0, trimmed: 0 });
    this.#before.set(id, undefined);
    return id;
  }

  find(name: string): number | undefined {
    return this.#ids.get(name);
  }

  nameOf(id: number): string {
    return this.#names.get(id) ?? '';
  }

  /** To be changed in place, within a transaction. */
  of(id: number): Totals {
    const totals = this.#totals.get(id) ?? { open: 0, closed: 0, bytes: 0, trimmedOpen: 0, trimmed: 0 };
    if (!this.#before.has(id)) this.#before.set(id, { ...totals });
    this.#totals.set(id, totals);
    return totals;
  }

  /** Before the commit. */
  write(): void {
    for (const id of this.#before.keys()) {
      const { open, closed, bytes, trimmedOpen, trimmed } = this.of(id);
      this.#write.run(open, closed, bytes, trimmedOpen, trimmed, id);
    }
  }

  committed(): PlaceState[] {
    const changed = [...this.#before.keys()];
    this.#before.clear();
    return changed.map((id) => this.#stateOf(id));
  }

  rolledBack(): void {
    for (const [id, before] of this.#before) {
      if (before) this.#totals.set(id, before);
      else this.#forget(id);
    }
    this.#before.clear();
  }

  all(): PlaceState[] {
    return [...this.#totals.keys()].map((id) => this.#stateOf(id));
  }

  #load(): void {
    for (const { id, name, trimmed_open, open, closed, bytes, trimmed } of this.#all.all()) {
      this.#remember(id, name, { open, closed, bytes, trimmedOpen: trimmed_open, trimmed });
    }
  }

  #remember(id: number, name: string, totals: Totals): void {
    this.#ids.set(name, id);
    this.#names.set(id, name);
    this.#totals.set(id, totals);
  }

  #forget(id: number): void {
    this.#ids.delete(this.nameOf(id));
    this.#names.delete(id);
    this.#totals.delete(id);
  }

  #stateOf(id: number): PlaceState {
    const { open = 0, closed = 0, bytes = 0, trimmedOpen = 0, trimmed = 0 } = this.#totals.get(id) ?? {};
    return {
      place: this.nameOf(id),
      open,
      closed,
      bytes,
      trimmedOpenTotal: trimmedOpen,
      trimmedTotal: trimmed,
    };
  }
}
