/**
 * What the two halves of the SQLite store say to each other. Records travel as one buffer of frames
 * `u32le length · record`, which is transferred, not copied; the same frames are what a chunk stores.
 */
import type { Fault } from '../sqlite/faults';
import type { QueueCounts, Settlement } from './contract';

export const FRAME_BYTES = 4;
/** seq f64 · stored at f64 · attempts u32 · unknowns u32 · length u32 · crashes u32 */
const LEASE_HEAD_BYTES = 32;

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

export function writeLeases(leases: readonly Leased[]): ArrayBuffer {
  const bytes = leases.reduce((sum, { record }) => sum + LEASE_HEAD_BYTES + record.byteLength, 0);
  const out = Buffer.from(new ArrayBuffer(bytes));
  let at = 0;
  for (const { seq, storedAt, attempts, unknowns, crashes, record } of leases) {
    out.writeDoubleLE(seq, at);
    out.writeDoubleLE(storedAt, at + 8);
    out.writeUInt32LE(attempts, at + 16);
    out.writeUInt32LE(unknowns, at + 20);
    out.writeUInt32LE(record.byteLength, at + 24);
    out.writeUInt32LE(crashes, at + 28);
    out.set(record, at + LEASE_HEAD_BYTES);
    at += LEASE_HEAD_BYTES + record.byteLength;
  }
  return out.buffer;
}

export function readLeases(buffer: ArrayBuffer): Leased[] {
  const from = Buffer.from(buffer);
  const leases: Leased[] = [];
  let at = 0;
  while (at < from.length) {
    const bytes = from.readUInt32LE(at + 24);
    leases.push({
      seq: from.readDoubleLE(at),
      storedAt: from.readDoubleLE(at + 8),
      attempts: from.readUInt32LE(at + 16),
      unknowns: from.readUInt32LE(at + 20),
      crashes: from.readUInt32LE(at + 28),
      record: from.subarray(at + LEASE_HEAD_BYTES, at + LEASE_HEAD_BYTES + bytes),
    });
    at += LEASE_HEAD_BYTES + bytes;
  }
  return leases;
}
