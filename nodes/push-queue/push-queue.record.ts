import { ulid } from 'ulid';
import type { Trace } from '#lib/delivery/lineage/contract';
import type { Stamp } from '#lib/delivery/stamp';
import type { Verdict } from '#lib/delivery/verdict';
import { SluiceError } from '#lib/errors/errors';
import type { Message } from '#lib/node-red/types';
import type { LeasedRecord } from '#lib/queue/contract';
import { decodeRecord, encodeBody, encodeRecord } from '#lib/queue/record-format';
import { appendKey, deliveryIdOf } from './push-queue.identity';

interface Queue {
  readonly id: string;
  readonly name: string;
}

interface ToStore {
  readonly record: Buffer;
  readonly key?: string;
  readonly keySince?: number;
}

/** `sluice` of a stored record: the source's stamp, and the origin of the deliveries to come. */
interface StoredStamp extends Stamp {
  readonly origin?: string;
}

/** The record to store for a message, and the key under which a repeat of it is recognised, if it can be. */
export function recordOf(msg: Message, trace: Trace | undefined, queue: Queue, now: number): ToStore {
  const body = encodeBody(msg.payload);
  if (!trace) {
    const stamp: StoredStamp = { id: ulid(now), source: queue.name, receivedAt: now, attempt: 1 };
    return { record: encodeRecord({ ...msg, sluice: stamp }, body) };
  }
  const origin = deliveryIdOf(body, trace, queue.id);
  const stamp: StoredStamp = { ...trace.stamp, attempt: 1, origin };
  const record = encodeRecord({ ...msg, sluice: stamp }, body);
  const { repeat } = trace;
  if (!repeat) return { record };
  return { record, key: appendKey(msg, body, origin, repeat), keySince: repeat.since };
}

/** Origin of what this record's delivery leads to: the same for each copy that a repeat left in the queue. */
export function originOf({ sluice }: Message, stamp: Stamp): string {
  const stored = sluice as StoredStamp | undefined;
  return stored?.origin ?? `${stamp.source}:${stamp.id}`;
}

/** The lane of a record with `ordering: key`; one without the property is a lane of its own. */
export function laneOf(lease: Pick<LeasedRecord, 'seq' | 'record'>, keyProperty: string): string {
  const own = `seq ${lease.seq}`;
  try {
    const value = keyProperty
      .split('.')
      .reduce<unknown>(
        (inner, name) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, name) : undefined),
        decodeRecord(lease.record),
      );
    return value === undefined || value === null || value === '' ? own : `key ${JSON.stringify(value)}`;
  } catch {
    // It can't be delivered either, and its delivery says why.
    return own;
  }
}

/** The stamp of a delivery: what was stored, with the attempt that this is. */
export function stampOf(msg: Message, queue: string, { seq, storedAt, attempts }: LeasedRecord): Stamp {
  const stored = msg['sluice'];
  const known = typeof stored === 'object' && stored !== null && 'id' in stored;
  if (!known) return { id: `${queue}:${seq}`, source: queue, receivedAt: storedAt, attempt: attempts + 1 };
  const { origin: _, ...stamp } = stored as StoredStamp;
  return { ...stamp, attempt: attempts + 1 };
}

/** A record of a newer version is good: it waits for that version. A damaged one can never be delivered. */
export function unreadable(cause: unknown): Verdict {
  const error = cause instanceof Error ? cause : new Error(String(cause));
  const newer = cause instanceof SluiceError && cause.code === 'ERR_SLUICE_RECORD_VERSION';
  return { kind: 'failed', failure: newer ? 'config' : 'permanent', error };
}
