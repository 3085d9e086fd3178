/** The table of chunks: writes new ones, finds the one that holds a record, deletes what is wholly settled. */
import type { Database, Statement } from 'better-sqlite3';
import { crc32 } from 'node:zlib';
import { Chunk } from './sqlite-chunk';

export const CHUNK_BYTES = 256 * 1024;
/** Contents of chunks kept for the next lease or retry. */
const CACHE_BYTES = 8 * 2 ** 20;
const COLUMNS =
  'chunk.first, n, at, crc, data, bits FROM chunk LEFT JOIN settled ON settled.first = chunk.first';

type Row = Parameters<typeof Chunk.read>[0];

export class Chunks {
  /** Bytes of settled records in chunks that aren't wholly settled. */
  wastedBytes = 0;
  #loaded: Chunk[] = [];
  #dirty = new Set<Chunk>();
  #contents = new Map<Chunk, Buffer>();
  #contentBytes = 0;
  #parts: Buffer[] = [];
  #part = { first: 0, count: 0, bytes: 0 };
  readonly #insert: Statement<[number, number, number, number, Buffer]>;
  readonly #delete: Statement<[number]>;
  readonly #firstFrom: Statement<[number], { first: number }>;
  readonly #rowFrom: Statement<[number], Row>;
  readonly #rowAt: Statement<[number], Row>;
  readonly #contentAt: Statement<[number], { data: Buffer }>;
  readonly #saveBits: Statement<[number, Uint8Array]>;
  readonly #deleteBits: Statement<[number]>;
  readonly #last: Statement<[], Row>;
  readonly #oldest: Statement<[], { at: number }>;

  constructor(db: Database) {
    this.#insert = db.prepare('INSERT INTO chunk VALUES(?, ?, ?, ?, ?)');
    this.#delete = db.prepare('DELETE FROM chunk WHERE first = ?');
    this.#firstFrom = db.prepare('SELECT first FROM chunk WHERE first >= ? ORDER BY first LIMIT 1');
    this.#rowFrom = db.prepare(`SELECT ${COLUMNS} WHERE chunk.first >= ? ORDER BY chunk.first LIMIT 1`);
    this.#rowAt = db.prepare(`SELECT ${COLUMNS} WHERE chunk.first <= ? ORDER BY chunk.first DESC LIMIT 1`);
    this.#contentAt = db.prepare('SELECT data FROM chunk WHERE first = ?');
    this.#saveBits = db.prepare('INSERT OR REPLACE INTO settled VALUES(?, ?)');
    this.#deleteBits = db.prepare('DELETE FROM settled WHERE first = ?');
    this.#last = db.prepare(`SELECT ${COLUMNS} ORDER BY chunk.first DESC LIMIT 1`);
    this.#oldest = db.prepare('SELECT at FROM chunk ORDER BY first LIMIT 1');
  }

  /** Unix ms of the oldest chunk's commit. */
  get oldestStoredAt(): number | undefined {
    return this.#oldest.get()?.at;
  }

  get newestStoredAt(): number | undefined {
    return this.#last.get()?.at;
  }

  /** Throws FileFault `corrupt` if the oldest or newest chunk, the likeliest after a crash, is damaged. */
  checkEnds(): void {
    for (const row of [this.#rowFrom.get(0), this.#last.get()]) if (row) Chunk.read(row);
  }

  /** Adds frames of consecutive records; small runs that are committed together share a chunk. */
  add(frames: Buffer, first: number, count: number, now: number): void {
    if (this.#part.bytes + frames.length > CHUNK_BYTES) this.flush(now);
    if (this.#parts.length === 0) this.#part = { first, count: 0, bytes: 0 };
    this.#parts.push(frames);
    this.#part.count += count;
    this.#part.bytes += frames.length;
  }

  /** Writes what was added. */
  flush(now: number): void {
    const [only] = this.#parts;
    if (!only) return;
    const data = this.#parts.length === 1 ? only : Buffer.concat(this.#parts, this.#part.bytes);
    const { first, count } = this.#part;
    const crc = crc32(data);
    this.#insert.run(first, count, now, crc, data);
    this.#keep({ first, n: count, at: now, data });
    this.#parts = [];
    this.#part = { first: 0, count: 0, bytes: 0 };
  }

  /** While the newest chunks are being given out, the next one will be soon: it needn't be read again. */
  #keep(row: Omit<Row, 'crc' | 'bits'>): void {
    const last = this.#loaded.at(-1);
    const atTail = last ? last.end === row.first : this.#isOnly(row.first);
    // The content is a view of all that came in together.
    const bytes = Math.max(row.data.buffer.byteLength, this.#contentBytes + row.data.length);
    if (!atTail || bytes > CACHE_BYTES) return;
    const chunk = Chunk.fresh(row);
    this.#loaded.push(chunk);
    this.#cache(chunk, row.data);
  }

  #isOnly(first: number): boolean {
    return this.#firstFrom.get(0)?.first === first;
  }

  /** The chunk that holds `seq`, settled or not. */
  at(seq: number): Chunk | undefined {
    const loaded = this.#loaded[this.#indexAt(seq)];
    if (loaded && seq < loaded.end) return loaded;
    const row = this.#rowAt.get(seq);
    return row && seq < row.first + row.n ? this.#load(row) : undefined;
  }

  /** The chunk that holds `seq`, if it is loaded, else the first that begins later. */
  from(seq: number): Chunk | undefined {
    const index = this.#indexAt(seq);
    const holder = this.#loaded[index];
    if (holder && seq < holder.end) return holder;
    if (index < this.#loaded.length - 1) {
      const first = this.#firstFrom.get(seq)?.first;
      const loaded = this.#loaded[index + 1];
      if (first !== undefined && loaded?.first === first) return loaded;
    }
    const row = this.#rowFrom.get(seq);
    return row && this.#load(row);
  }

  contentOf(chunk: Chunk): Buffer {
    const cached = this.#contents.get(chunk);
    if (cached) return cached;
    const data = this.#contentAt.get(chunk.first)?.data ?? Buffer.alloc(0);
    this.#cache(chunk, data);
    return data;
  }

  settle(chunk: Chunk, seq: number): void {
    chunk.settle(seq);
    this.wastedBytes += chunk.bytesOf(seq);
    this.#dirty.add(chunk);
  }

  /** Partly settled chunks whose records were all given out, oldest first. */
  *straggling(cursor: number): Generator<Chunk> {
    for (const chunk of [...this.#loaded]) if (chunk.end <= cursor && chunk.settledBytes > 0) yield chunk;
  }

  /** Writes what was settled: a wholly settled chunk is deleted, of the others the bits are kept. */
  save(): void {
    for (const chunk of this.#dirty) {
      if (chunk.live > 0) {
        this.#saveBits.run(chunk.first, chunk.row);
        chunk.stored = true;
        continue;
      }
      this.#delete.run(chunk.first);
      if (chunk.stored) this.#deleteBits.run(chunk.first);
      this.#forget(chunk);
    }
    this.#dirty.clear();
  }

  /** Forgets everything not in the file, after a rollback. */
  reset(): void {
    this.wastedBytes = 0;
    this.#loaded = [];
    this.#dirty.clear();
    this.#contents.clear();
    this.#contentBytes = 0;
    this.#parts = [];
    this.#part = { first: 0, count: 0, bytes: 0 };
  }

  /** Index of the last loaded chunk that begins at or before `seq`, or -1. */
  #indexAt(seq: number): number {
    let low = 0;
    let high = this.#loaded.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#loaded[middle]?.first ?? 0) <= seq) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  #load(row: Row): Chunk {
    const chunk = Chunk.read(row);
    this.#loaded.splice(this.#indexAt(chunk.first) + 1, 0, chunk);
    this.wastedBytes += chunk.settledBytes;
    this.#cache(chunk, row.data);
    return chunk;
  }

  #cache(chunk: Chunk, data: Buffer): void {
    this.#contents.set(chunk, data);
    this.#contentBytes += data.length;
    for (const oldest of this.#contents.keys()) {
      if (this.#contentBytes <= CACHE_BYTES || oldest === chunk) break;
      this.#uncache(oldest);
    }
  }

  #uncache(chunk: Chunk): void {
    this.#contentBytes -= this.#contents.get(chunk)?.length ?? 0;
    this.#contents.delete(chunk);
  }

  #forget(chunk: Chunk): void {
    this.#loaded.splice(this.#indexAt(chunk.first), 1);
    this.wastedBytes -= chunk.settledBytes;
    this.#uncache(chunk);
  }
}
