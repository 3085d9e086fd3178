/**
 * SQLite's write-ahead log as it lies on the disk, and the head of the index beside it.
 * Format: https://www.sqlite.org/fileformat2.html#walformat, https://www.sqlite.org/walformat.html
 */
import { readFileSync, readSync, statSync, writeSync } from 'node:fs';
import { endianness } from 'node:os';

export const LOG_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** Its last bit tells whether the checksums are over big-endian words. */
const MAGIC = 0x377f0682;
const FORMAT = 3_007_000;
const INDEX_HEADER_BYTES = 48;
/** Beyond any file of ours, so that nobody reads the frame. SQLite takes one of page 0 for the end of the log. */
const NO_PAGE = 0x7fff_ffff;

type Sums = readonly [number, number];

interface LogHeader {
  readonly pageBytes: number;
  readonly bigEndian: boolean;
  readonly salt: string;
  /** Where the chain of checksums begins. */
  readonly storedSums: Sums;
  readonly isSound: boolean;
}

/** The log's version of one page. */
export interface Frame {
  /** From 1. */
  readonly number: number;
  /** Valid until the next frame is read. */
  readonly bytes: Buffer;
  /** Whether it was written since the log was last started over. */
  readonly isCurrent: boolean;
  readonly isCommit: boolean;
}

export class LogFile {
  readonly #header: LogHeader;
  readonly #fd: number;

  /** `fd` of a log with more in it than a header; `pageBytes` is used where the header can't be read. */
  constructor(fd: number, pageBytes: number) {
    this.#fd = fd;
    this.#header = readHeader(fd, pageBytes);
  }

  get salt(): string {
    return this.#header.salt;
  }

  /** All complete frames, those of earlier rounds at the end included. */
  *frames(): Generator<Frame> {
    const { pageBytes, salt } = this.#header;
    const bytes = Buffer.alloc(FRAME_HEADER_BYTES + pageBytes);
    for (let number = 1; ; number += 1) {
      if (readSync(this.#fd, bytes, 0, bytes.length, this.#placeOf(number)) < bytes.length) return;
      const isCurrent = bytes.toString('hex', 8, 16) === salt;
      yield { number, bytes, isCurrent, isCommit: bytes.readUInt32BE(4) > 0 };
    }
  }

  /** Whether frames, asked for one after the other, are what was written. False for all behind one that isn't. */
  chain(): (frame: Frame) => boolean {
    const { bigEndian, isSound, storedSums: first } = this.#header;
    let sums = isSound ? first : undefined;
    return ({ bytes, isCurrent }) => {
      const next = sums && isCurrent ? frameSums(bytes, sums, bigEndian) : undefined;
      sums = next && isEqual(next, storedSums(bytes, 16)) ? next : undefined;
      return sums !== undefined;
    };
  }

  /** Has SQLite read the first `count` frames, without those that aren't what was written. */
  mend(count: number): void {
    let { storedSums: before } = this.#header;
    let sums = this.#writeHeader();
    for (const { number, bytes, isCurrent } of this.frames()) {
      if (number > count) return;
      const stored = storedSums(bytes, 16);
      if (!isCurrent || !isEqual(frameSums(bytes, before, this.#header.bigEndian), stored)) {
        bytes.writeUInt32BE(NO_PAGE, 0);
        bytes.write(this.salt, 8, 'hex');
      }
      before = stored;
      sums = frameSums(bytes, sums, this.#header.bigEndian);
      bytes.writeUInt32BE(sums[0], 16);
      bytes.writeUInt32BE(sums[1], 20);
      writeSync(this.#fd, bytes, 0, FRAME_HEADER_BYTES, this.#placeOf(number));
    }
  }

  #placeOf(number: number): number {
    return LOG_HEADER_BYTES + (number - 1) * (FRAME_HEADER_BYTES + this.#header.pageBytes);
  }

  #writeHeader(): Sums {
    const { pageBytes, bigEndian } = this.#header;
    const bytes = Buffer.alloc(LOG_HEADER_BYTES);
    bytes.writeUInt32BE(bigEndian ? MAGIC | 1 : MAGIC, 0);
    bytes.writeUInt32BE(FORMAT, 4);
    bytes.writeUInt32BE(pageBytes, 8);
    bytes.write(this.salt, 16, 'hex');
    const sums = sumsOf(bytes, 0, 24, [0, 0], bigEndian);
    bytes.writeUInt32BE(sums[0], 24);
    bytes.writeUInt32BE(sums[1], 28);
    writeSync(this.#fd, bytes, 0, bytes.length, 0);
    return sums;
  }
}

function readHeader(fd: number, pageBytes: number): LogHeader {
  const bytes = Buffer.alloc(LOG_HEADER_BYTES + FRAME_HEADER_BYTES);
  readSync(fd, bytes, 0, bytes.length, 0);
  const magic = bytes.readUInt32BE(0);
  const isOurs = magic === MAGIC || magic === (MAGIC | 1);
  const bigEndian = isOurs ? magic !== MAGIC : endianness() === 'BE';
  const sums = storedSums(bytes, 24);
  const isSound = isOurs && isEqual(sumsOf(bytes, 0, 24, [0, 0], bigEndian), sums);
  // Each frame repeats the salt: what is lost with the header.
  const saltAt = isSound ? 16 : LOG_HEADER_BYTES + 8;
  return {
    pageBytes: isSound ? bytes.readUInt32BE(8) : pageBytes,
    bigEndian,
    salt: bytes.toString('hex', saltAt, saltAt + 8),
    storedSums: sums,
    isSound,
  };
}

const isEqual = (one: Sums, other: Sums) => one[0] === other[0] && one[1] === other[1];
const storedSums = (bytes: Buffer, at: number): Sums => [bytes.readUInt32BE(at), bytes.readUInt32BE(at + 4)];

function frameSums(bytes: Buffer, before: Sums, bigEndian: boolean): Sums {
  const sums = sumsOf(bytes, 0, 8, before, bigEndian);
  return sumsOf(bytes, FRAME_HEADER_BYTES, bytes.length, sums, bigEndian);
}

function sumsOf(bytes: Buffer, from: number, to: number, before: Sums, bigEndian: boolean): Sums {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  let [first, second] = before;
  for (let at = from; at < to; at += 8) {
    first = (first + view.getUint32(at, !bigEndian) + second) >>> 0;
    second = (second + view.getUint32(at + 4, !bigEndian) + first) >>> 0;
  }
  return [first, second];
}

/** What the index beside a log knows of it. Frames are counted from 1; 0 = none. */
interface LogIndex {
  readonly salt: string;
  /** The last frame of the last commit that was synced. */
  readonly committed: number;
  /** The last frame that is in the database as well. */
  readonly backfilled: number;
}

/** Undefined where it is missing or was torn: its head is there twice, with a checksum. */
export function readLogIndex(file: string): LogIndex | undefined {
  const bytes = Buffer.alloc(2 * INDEX_HEADER_BYTES + 4);
  const whole = statSync(file, { throwIfNoEntry: false })?.isFile() === true ? readFileSync(file) : bytes;
  whole.copy(bytes);
  const isSame = bytes.subarray(0, INDEX_HEADER_BYTES).equals(bytes.subarray(INDEX_HEADER_BYTES, -4));
  // It isn't meant for other machines, so its words have this one's order.
  const bigEndian = endianness() === 'BE';
  const word = (at: number) => (bigEndian ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at));
  const sums = sumsOf(bytes, 0, 40, [0, 0], bigEndian);
  if (!isSame || word(0) !== FORMAT || sums[0] !== word(40) || sums[1] !== word(44)) return undefined;
  return {
    salt: bytes.toString('hex', 32, 40),
    committed: word(16),
    backfilled: word(2 * INDEX_HEADER_BYTES),
  };
}
