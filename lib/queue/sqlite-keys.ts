/**
 * The idempotency keys of the last appends. One row per commit, in order: an index by key would touch a random page
 * for each record. They are looked up in memory, and read from the file only once a key is asked for.
 */
import type { Database, Statement } from 'better-sqlite3';

export class RememberedKeys {
  #seqs: Map<string, number> | undefined;
  #fresh: (number | string)[] = [];
  readonly #insert: Statement<[number, string]>;
  readonly #trim: Statement<[number]>;
  readonly #all: Statement<[], { entries: string }>;

  /** `max` is how many appends back a key is known, at least; up to a sixteenth more are kept. */
  constructor(
    db: Database,
    private readonly max: number,
  ) {
    this.#insert = db.prepare('INSERT INTO keys VALUES(?, ?)');
    this.#trim = db.prepare('DELETE FROM keys WHERE last < ?');
    this.#all = db.prepare('SELECT entries FROM keys ORDER BY last');
  }

  /** Seq of the record that was stored with this key. */
  seqOf(key: string): number | undefined {
    return this.#known().get(key);
  }

  add(key: string, seq: number): void {
    this.#known().set(key, seq);
    this.#fresh.push(seq, key);
  }

  /** Writes what was added since the last commit; `next` is the seq that comes next. */
  save(next: number): void {
    if (this.#fresh.length === 0) return;
    this.#insert.run(Number(this.#fresh.at(-2)), JSON.stringify(this.#fresh));
    const known = this.#known();
    if (known.size > this.max + (this.max >> 4)) this.#trim.run(next - this.max);
  }

  committed(next: number): void {
    this.#fresh = [];
    const known = this.#seqs;
    if (!known || known.size <= this.max + (this.max >> 4)) return;
    for (const [key, seq] of known) {
      if (seq >= next - this.max) break;
      known.delete(key);
    }
  }

  rolledBack(): void {
    for (let index = 1; index < this.#fresh.length; index += 2) {
      this.#seqs?.delete(String(this.#fresh[index]));
    }
    this.#fresh = [];
  }

  #known(): Map<string, number> {
    if (this.#seqs) return this.#seqs;
    this.#seqs = new Map();
    for (const { entries } of this.#all.all()) {
      const list = JSON.parse(entries) as (number | string)[];
      for (let index = 0; index < list.length; index += 2) {
        this.#seqs.set(String(list[index + 1]), Number(list[index]));
      }
    }
    return this.#seqs;
  }
}
