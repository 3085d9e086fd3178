/**
 * What the two halves of the SQLite store say to each other. Records travel as one buffer of frames
 * `u32le length · record`, which is transferred, not copied; the same frames are what a chunk stores.
 */
import type { Fault } from '../sqlite/faults';
import type { LeasedRecord, ParkedRecord, QueueCounts, Settlement, ListedRecord } from './contract';

export const FRAME_BYTES = 4;
/** Of each run of leases: first seq · count · stored at · attempts · unknowns · crashes, f64 each. */
const RUN_NUMBERS = 6;

export interface AppendBatch {
  readonly frames: ArrayBuffer;
  readonly count: number;
  /** Keys, and since when each counts, by index; absent when no record has one. */
  readonly keys?: readonly (string | undefined)[];
  readonly keysSince?: readonly (number | undefined)[];
  readonly evictDownTo?: number | undefined;
}

/** All that came in within one turn of the event loop. */
export interface QueueBatch {
  /** Unix ms. */
  readonly now: number;
  readonly append?: AppendBatch | undefined;
  /** Seqs that are done. */
  readonly done?: Float64Array | undefined;
  readonly settlements?: readonly Settlement[] | undefined;
  readonly leases?: readonly LeaseRequest[] | undefined;
  /** Listings of the oldest records: how many. */
  readonly lists?: readonly number[] | undefined;
  /** Reads of parked records. */
  readonly reads?: readonly ParkedRead[] | undefined;
  readonly releaseHeld?: boolean | undefined;
  /** Write something to see whether the file can be written. */
  readonly probe?: boolean | undefined;
}

export interface ParkedRead {
  readonly afterSeq: number;
  readonly limit: number;
}

export interface LeaseRequest {
  readonly maxRecords: number;
  readonly maxBytes: number;
  readonly maxParked?: number | undefined;
  /** These parked records and no others. */
  readonly seqs?: readonly number[] | undefined;
}

/** Counters after the commit that answers a batch. */
export interface QueueState extends QueueCounts {
  readonly nextDueAt: number | undefined;
}

export interface QueueReply {
  readonly state: QueueState;
  /** Seq of the first record stored; the others follow it in order. */
  readonly firstSeq: number;
  /** Index and remembered seq of each record not stored again. */
  readonly duplicates?: readonly (readonly [index: number, seq: number])[] | undefined;
  readonly appendFault?: Fault | undefined;
  readonly settleFault?: Fault | undefined;
  /** One buffer per lease request, see `readLeases`; fault where it could not be read. */
  readonly leases?: readonly (ArrayBuffer | Fault)[] | undefined;
  /** Of all lease requests: asked for by seq and given out later. */
  readonly later?: readonly number[] | undefined;
  readonly reads?: readonly (readonly ParkedRecord[] | Fault)[] | undefined;
  readonly lists?: readonly (readonly ListedRecord[] | Fault)[] | undefined;
  /** A file or part of it that was found damaged and set aside. */
  readonly quarantined?: Fault | undefined;
}

export interface QueueHello {
  readonly state: QueueState;
  readonly quarantined: Fault | undefined;
}

export interface WorkerOptions {
  readonly file: string;
  readonly now: number;
  /** Seqs that the main thread still has on lease, from before the worker was lost. */
  readonly leased: readonly number[];
  /** The worker was lost, not the process: what was out is still out. */
  readonly restarted: boolean;
  readonly maxDead: number;
  readonly maxKeys: number;
  readonly lockWaitMs?: number | undefined;
  readonly maxPages?: number | undefined;
  readonly minFreeBytes?: number | undefined;
  readonly nativeBinding?: string | undefined;
}

/** Records that follow each other in one chunk, or one parked record: what is said of it is true of each. */
export interface LeaseRun {
  readonly seq: number;
  readonly count: number;
  readonly attempts: number;
  readonly unknowns: number;
  readonly crashes: number;
  readonly storedAt: number;
  readonly frames: Uint8Array;
}

/** Not filled with zeros: each byte is written by its user. */
function newBuffer(bytes: number): ArrayBuffer {
  return Buffer.allocUnsafeSlow(bytes).buffer;
}

export function writeFrames(records: readonly Uint8Array[]): ArrayBuffer {
  let bytes = 0;
  for (const record of records) bytes += FRAME_BYTES + record.byteLength;
  const buffer = newBuffer(bytes);
  const frames = new Uint8Array(buffer);
  const lengths = new DataView(buffer);
  let at = 0;
  for (const record of records) {
    lengths.setUint32(at, record.byteLength, true);
    frames.set(record, at + FRAME_BYTES);
    at += FRAME_BYTES + record.byteLength;
  }
  return buffer;
}

/** One buffer for all: how many runs, their numbers, their frames. */
export function writeLeases(runs: readonly LeaseRun[]): ArrayBuffer {
  const headBytes = 8 * (1 + RUN_NUMBERS * runs.length);
  const bytes = runs.reduce((sum, { frames }) => sum + frames.byteLength, headBytes);
  const buffer = newBuffer(bytes);
  const numbers = new Float64Array(buffer, 0, headBytes / 8);
  const out = new Uint8Array(buffer);
  numbers[0] = runs.length;
  let index = 1;
  let at = headBytes;
  for (const { seq, count, storedAt, attempts, unknowns, crashes, frames } of runs) {
    numbers.set([seq, count, storedAt, attempts, unknowns, crashes], index);
    index += RUN_NUMBERS;
    out.set(frames, at);
    at += frames.byteLength;
  }
  return buffer;
}

export function readLeases(buffer: ArrayBuffer): LeasedRecord[] {
  const [runs = 0] = new Float64Array(buffer, 0, 1);
  const headBytes = 8 * (1 + RUN_NUMBERS * runs);
  const numbers = new Float64Array(buffer, 0, headBytes / 8);
  const lengths = new DataView(buffer);
  const leases: LeasedRecord[] = [];
  let at = headBytes;
  for (let index = 1; index < numbers.length; index += RUN_NUMBERS) {
    const [first = 0, count = 0, storedAt = 0, attempts = 0, unknowns = 0, crashes = 0] = numbers.subarray(
      index,
      index + RUN_NUMBERS,
    );
    for (let seq = first; seq < first + count; seq++) {
      const bytes = lengths.getUint32(at, true);
      const record = Buffer.from(buffer, at + FRAME_BYTES, bytes);
      leases.push({ seq, attempts, unknowns, crashes, storedAt, record });
      at += FRAME_BYTES + bytes;
    }
  }
  return leases;
}
