/** What a queue's file holds, as an operator is shown it. A read of its own: nothing is given out, nothing is loaded. */
import type { Database, Statement } from 'better-sqlite3';
import type { ListedRecord } from './contract';
import { Chunk } from './sqlite-chunk';

/** Of the records of one answer, but for the first. */
const MAX_LISTED_BYTES = 8 * 2 ** 20;

interface ChunkRow {
  readonly first: number;
  readonly n: number;
  readonly at: number;
  readonly crc: number;
  readonly data: Buffer;
  readonly bits: Buffer | null;
}

type ParkedRow = Omit<ListedRecord, 'state'>;

export class Listing {
  readonly #chunks: Statement<[], ChunkRow>;
  readonly #parked: Statement<[number], ParkedRow>;

  constructor(db: Database) {
    this.#chunks = db.prepare(
      'SELECT chunk.first, n, at, crc, data, bits FROM chunk LEFT JOIN settled ON settled.first = chunk.first ORDER BY chunk.first',
    );
    this.#parked = db.prepare(
      'SELECT seq, at AS storedAt, attempts, data AS record FROM parked ORDER BY seq LIMIT ?',
    );
  }

  /** Oldest first. Throws FileFault `corrupt`. */
  oldest(limit: number, isOut: (seq: number) => boolean): readonly ListedRecord[] {
    const parked = this.#parked
      .all(limit)
      .map((row) => ({ ...row, state: isOut(row.seq) ? ('out' as const) : ('parked' as const) }));
    const rows = [...parked, ...this.#queued(limit, isOut)].sort((a, b) => a.seq - b.seq).slice(0, limit);
    let bytes = 0;
    const fitting = rows.findIndex(({ record }, index) => {
      bytes += record.byteLength;
      return index > 0 && bytes > MAX_LISTED_BYTES;
    });
    const listed = fitting < 0 ? rows : rows.slice(0, fitting);
    // Copies: a view would take its whole chunk along.
    return listed.map((row) => ({ ...row, record: Uint8Array.from(row.record) }));
  }

  *#queued(limit: number, isOut: (seq: number) => boolean): Generator<ListedRecord> {
    let left = limit;
    for (const row of this.#chunks.iterate()) {
      const chunk = Chunk.read(row);
      for (let seq = chunk.first; seq < chunk.end; seq++) {
        if (left === 0) return;
        if (chunk.isSettled(seq)) continue;
        left -= 1;
        const record = chunk.recordIn(row.data, seq);
        yield { seq, state: isOut(seq) ? 'out' : 'queued', storedAt: chunk.storedAt, attempts: 0, record };
      }
    }
  }
}
