/**
 * What the two halves of the SQLite store say to each other. Records travel as one buffer of frames
 * `u32le length · record`, which is transferred, not copied; the same frames are what a chunk stores.
 */
import type { Fault } from '../sqlite/faults';
import type { QueueCounts, Settlement } from './contract';

export const FRAME_BYTES = 4;
/** Of each lease: seq · stored at · attempts · unknowns · crashes · length, f64 each. */
const LEASE_NUMBERS = 6;

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
  /** Write something to see whether the file can be written. */
  readonly probe?: boolean | undefined;
}

export interface LeaseRequest {
  readonly maxRecords: number;
  readonly maxBytes: number;
  readonly maxParked?: number | undefined;
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

export interface Leased {
  readonly seq: number;
  readonly attempts: number;
  readonly unknowns: number;
  readonly crashes: number;
  readonly storedAt: number;
  readonly record: Uint8Array;
}

export function writeFrames(records: readonly Uint8Array[]): ArrayBuffer {
  const bytes = records.reduce((sum, record) => sum + FRAME_BYTES + record.byteLength, 0);
  const frames = Buffer.from(new ArrayBuffer(bytes));
  let at = 0;
  for (const record of records) {
    frames.writeUInt32LE(record.byteLength, at);
    frames.set(record, at + FRAME_BYTES);
    at += FRAME_BYTES + record.byteLength;
  }
  return frames.buffer;
}

/** One buffer for all: how many, their numbers, their records. Typed arrays, because `Buffer` writes a byte at a time. */
export function writeLeases(leases: readonly Leased[]): ArrayBuffer {
  const headBytes = 8 * (1 + LEASE_NUMBERS * leases.length);
  const bytes = leases.reduce((sum, { record }) => sum + record.byteLength, headBytes);
  const buffer = new ArrayBuffer(bytes);
  const numbers = new Float64Array(buffer, 0, headBytes / 8);
  const out = new Uint8Array(buffer);
  numbers[0] = leases.length;
  let index = 1;
  let at = headBytes;
  for (const { seq, storedAt, attempts, unknowns, crashes, record } of leases) {
    numbers[index] = seq;
    numbers[index + 1] = storedAt;
    numbers[index + 2] = attempts;
    numbers[index + 3] = unknowns;
    numbers[index + 4] = crashes;
    numbers[index + 5] = record.byteLength;
    index += LEASE_NUMBERS;
    out.set(record, at);
    at += record.byteLength;
  }
  return buffer;
}

export function readLeases(buffer: ArrayBuffer): Leased[] {
  const [count = 0] = new Float64Array(buffer, 0, 1);
  const headBytes = 8 * (1 + LEASE_NUMBERS * count);
  const numbers = new Float64Array(buffer, 0, headBytes / 8);
  const leases: Leased[] = [];
  let at = headBytes;
  for (let index = 1; index < numbers.length; index += LEASE_NUMBERS) {
    const bytes = numbers[index + 5] ?? 0;
    leases.push({
      seq: numbers[index] ?? 0,
      storedAt: numbers[index + 1] ?? 0,
      attempts: numbers[index + 2] ?? 0,
      unknowns: numbers[index + 3] ?? 0,
      crashes: numbers[index + 4] ?? 0,
      record: Buffer.from(buffer, at, bytes),
    });
    at += bytes;
  }
  return leases;
}
