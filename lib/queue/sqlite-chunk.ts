/** One chunk of records as the worker holds it while some of them are on lease. */
import { crc32 } from 'node:zlib';
import { FileFault } from '../sqlite/faults';
import { FRAME_BYTES } from './sqlite-wire';

export class Chunk {
  /** Records not settled. */
  live: number;
  /** Bytes of settled records, which the file still holds. */
  settledBytes = 0;

  private constructor(
    readonly first: number,
    readonly count: number,
    /** Unix ms. */
    readonly storedAt: number,
    /** Where each record's frame begins; one more, for the end. */
    private readonly starts: Uint32Array,
    private readonly bits: Uint8Array,
    /** Whether the file has a row of bits. */
    public stored: boolean,
  ) {
    this.live = count;
    for (let index = 0; index < count; index++) {
      if (!this.isSettled(first + index)) continue;
      this.live--;
      this.settledBytes += this.bytesOf(first + index);
    }
  }

  /** Checks the frames and reads what was settled before. Throws FileFault `corrupt`. */
  static read(row: {
    first: number;
    n: number;
    at: number;
    crc: number;
    data: Buffer;
    bits: Buffer | null;
  }): Chunk {
    const { first, n, at, crc, data, bits } = row;
    if (crc32(data) !== crc) throw new FileFault('corrupt', `checksum of chunk ${first}`);
    return Chunk.#of({ first, n, at, data, bits });
  }

  /** One that was just written. */
  static fresh(row: { first: number; n: number; at: number; data: Buffer }): Chunk {
    return Chunk.#of({ ...row, bits: null });
  }

  static #of({
    first,
    n,
    at,
    data,
    bits,
  }: {
    first: number;
    n: number;
    at: number;
    data: Buffer;
    bits: Buffer | null;
  }): Chunk {
    const starts = new Uint32Array(n + 1);
    let start = 0;
    for (let index = 0; index < n; index++) {
      starts[index] = start;
      start += FRAME_BYTES + data.readUInt32LE(start);
    }
    starts[n] = start;
    return new Chunk(
      first,
      n,
      at,
      starts,
      bits ? new Uint8Array(bits) : new Uint8Array((n + 7) >> 3),
      bits !== null,
    );
  }

  /** Seq after the last record. */
  get end(): number {
    return this.first + this.count;
  }

  bytesOf(seq: number): number {
    const index = seq - this.first;
    return (this.starts[index + 1] ?? 0) - (this.starts[index] ?? 0) - FRAME_BYTES;
  }

  recordIn(data: Uint8Array, seq: number): Uint8Array {
    const index = seq - this.first;
    return data.subarray((this.starts[index] ?? 0) + FRAME_BYTES, this.starts[index + 1]);
  }

  /** The frames from `seq` up to, not including, `end`. */
  framesIn(data: Uint8Array, seq: number, end: number): Uint8Array {
    return data.subarray(this.starts[seq - this.first], this.starts[end - this.first]);
  }

  isSettled(seq: number): boolean {
    const index = seq - this.first;
    return ((this.bits[index >> 3] ?? 0) & (1 << (index & 7))) !== 0;
  }

  settle(seq: number): void {
    const index = seq - this.first;
    this.bits[index >> 3] = (this.bits[index >> 3] ?? 0) | (1 << (index & 7));
    this.live--;
    this.settledBytes += this.bytesOf(seq);
  }

  /** The bits as they are stored. */
  get row(): Uint8Array {
    return this.bits;
  }
}
