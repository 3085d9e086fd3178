/**
 * The idempotency keys of the last appends. One row per commit, in order: an index by key would touch a random page
 * for each record. They are looked up in memory, and read from the file only once a key is asked for.
 *
 * A record that was evicted or given up is noted as lost, and its key forgotten: told "stored already", its sender would
 * not send it again.
 */
import type { Database, Statement } from 'better-sqlite3';

interface Commit {
  /** Seq of its last record with a key. */
  readonly last: number;
  /** Unix ms. */
  readonly at: number;
  /** Records with a key. */
  readonly count: number;
}

/** What is in the file and, but for `commits`, in the running transaction. */
interface Known {
  readonly seqOf: Map<string, number>;
  readonly keyOf: Map<number, string>;
  commits: Commit[];
  /** Appends of all commits. */
  count: number;
}

export class RememberedKeys {
  #known: Known | undefined;
  #fresh: (number | string)[] = [];
  #lost: number[] = [];
  /** What each changed key stood for before, to take the transaction back. */
  #before: [key: string, seq: number | undefined][] = [];
  #saved: Commit | undefined;
  /** Last seq of the commits that the running transaction forgets. */
  #forgetTo = 0;
  readonly #insert: Statement<[number, string, number]>;
  readonly #insertLost: Statement<[number]>;
  readonly #trim: Statement<[number]>;
  readonly #trimLost: Statement<[number]>;
  readonly #all: Statement<[], { last: number; entries: string; at: number }>;
  readonly #allLost: Statement<[], { seq: number }>;

  /** `max` is how many appends are remembered, at least; up to a sixteenth more are kept. */
  constructor(
    db: Database,
    private readonly max: number,
  ) {
    this.#insert = db.prepare('INSERT INTO keys(last, entries, at) VALUES(?, ?, ?)');
    this.#insertLost = db.prepare('INSERT OR IGNORE INTO lost VALUES(?)');
    this.#trim = db.prepare('DELETE FROM keys WHERE last <= ?');
    this.#trimLost = db.prepare('DELETE FROM lost WHERE seq <= ?');
    this.#all = db.prepare('SELECT last, entries, at FROM keys ORDER BY last');
    this.#allLost = db.prepare('SELECT seq FROM lost');
  }

  /** Seq of the record that was stored with this key, at `since` (Unix ms) or later. */
  seqOf(key: string, since = 0): number | undefined {
    const seq = this.#load().seqOf.get(key);
    return seq === undefined || this.#storedAt(seq) < since ? undefined : seq;
  }

  add(key: string, seq: number): void {
    const known = this.#load();
    this.#before.push([key, known.seqOf.get(key)]);
    put(known, key, seq);
    this.#fresh.push(seq, key);
  }

  /** The record will not be delivered. */
  lose(seq: number): void {
    const known = this.#load();
    const key = known.keyOf.get(seq);
    if (key === undefined) return;
    this.#before.push([key, seq]);
    put(known, key, undefined);
    this.#lost.push(seq);
  }

  /** Writes what changed since the last commit; `now` is Unix ms. */
  save(now: number): void {
    for (const seq of this.#lost) this.#insertLost.run(seq);
    if (this.#fresh.length === 0) return;
    this.#saved = { last: Number(this.#fresh.at(-2)), at: now, count: this.#fresh.length / 2 };
    this.#insert.run(this.#saved.last, JSON.stringify(this.#fresh), now);
    this.#forgetTo = this.#lastToForget(this.#saved.count);
    if (this.#forgetTo === 0) return;
    this.#trim.run(this.#forgetTo);
    this.#trimLost.run(this.#forgetTo);
  }

  committed(): void {
    if (this.#saved) {
      const known = this.#load();
      known.commits.push(this.#saved);
      known.count += this.#saved.count;
      if (this.#forgetTo > 0) forget(known, this.#forgetTo);
    }
    this.#end();
  }

  rolledBack(): void {
    const known = this.#known;
    if (known) for (const [key, seq] of this.#before.reverse()) put(known, key, seq);
    this.#end();
  }

  #end(): void {
    this.#fresh = [];
    this.#lost = [];
    this.#before = [];
    this.#saved = undefined;
    this.#forgetTo = 0;
  }

  /** When the commit with this record was. The one under way is later than any. */
  #storedAt(seq: number): number {
    const { commits } = this.#load();
    let low = 0;
    let high = commits.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((commits[middle]?.last ?? 0) < seq) low = middle + 1;
      else high = middle;
    }
    return commits[low]?.at ?? Infinity;
  }

  #lastToForget(added: number): number {
    const { commits, count } = this.#load();
    let excess = count + added - this.max;
    if (excess <= this.max >> 4) return 0;
    let last = 0;
    for (const commit of commits) {
      if (commit.count > excess) break;
      excess -= commit.count;
      last = commit.last;
    }
    return last;
  }

  #load(): Known {
    if (this.#known) return this.#known;
    const known: Known = { seqOf: new Map(), keyOf: new Map(), commits: [], count: 0 };
    const lost = new Set(this.#allLost.all().map(({ seq }) => seq));
    for (const { last, entries, at } of this.#all.all()) {
      const list = JSON.parse(entries) as (number | string)[];
      known.commits.push({ last, at, count: list.length / 2 });
      known.count += list.length / 2;
      for (let index = 0; index < list.length; index += 2) {
        const seq = Number(list[index]);
        put(known, String(list[index + 1]), lost.has(seq) ? undefined : seq);
      }
    }
    return (this.#known = known);
  }
}

function put({ seqOf, keyOf }: Known, key: string, seq: number | undefined): void {
  const before = seqOf.get(key);
  if (before !== undefined) keyOf.delete(before);
  if (seq === undefined) seqOf.delete(key);
  else {
    seqOf.set(key, seq);
    keyOf.set(seq, key);
  }
}

function forget(known: Known, last: number): void {
  for (const [seq, key] of known.keyOf) if (seq <= last) put(known, key, undefined);
  const kept = known.commits.findIndex((commit) => commit.last > last);
  const gone = known.commits.splice(0, kept < 0 ? known.commits.length : kept);
  for (const { count } of gone) known.count -= count;
}
