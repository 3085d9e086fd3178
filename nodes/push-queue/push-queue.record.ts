import { ulid } from 'ulid';
import type { Stamp } from '#lib/delivery/stamp';
import type { Verdict } from '#lib/delivery/verdict';
import { SluiceError } from '#lib/errors/errors';
import type { Message } from '#lib/node-red/types';
import type { LeasedRecord } from '#lib/queue/contract';
import { decodeRecord } from '#lib/queue/record-format';

/** The stamp to store: the source's own, or a new one for a message that no source of ours admitted. */
export function stampToStore(traced: Stamp | undefined, queue: string, now: number): Stamp {
  // The attempt is left out of what is stored: it would give the same data another delivery id on each retry.
  if (traced) return { ...traced, attempt: 1 };
  return { id: ulid(now), source: queue, receivedAt: now, attempt: 1 };
}

/** The lane of a record with `ordering: key`; one without the property is a lane of its own. */
export function laneOf(lease: LeasedRecord, keyProperty: string): string {
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
  const stamp = known ? (stored as Stamp) : { id: `${queue}:${seq}`, source: queue, receivedAt: storedAt };
  return { ...stamp, attempt: attempts + 1 };
}

/** A record of a newer version is good: it waits for that version. A damaged one can never be delivered. */
export function unreadable(cause: unknown): Verdict {
  const error = cause instanceof Error ? cause : new Error(String(cause));
  const newer = cause instanceof SluiceError && cause.code === 'ERR_SLUICE_RECORD_VERSION';
  return { kind: 'failed', failure: newer ? 'config' : 'permanent', error };
}
