/**
 * What makes a record the same record.
 *
 * Its delivery id comes from where it is from, its payload and how often that payload came in this attempt: no two
 * records of an attempt share one, and each attempt gives the same ones. Every delivery behind the queue derives from
 * it, so a copy that a repeat leaves in the queue reaches its destination with the Idempotency-Key of the first.
 *
 * The key of the append covers all else as well: it may only say "stored already" of the very same data. Since the
 * delivery id is part of it, a repeat that is left out always left one with the same delivery id in the queue.
 */
import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Repeat, Trace } from '#lib/delivery/lineage/contract';
import type { Message } from '#lib/node-red/types';
import { encodeRecord, type Body } from '#lib/queue/record-format';

export function deliveryIdOf([, content]: Body, trace: Trace, queueId: string): string {
  return trace.deliveryId(queueId, typeof content === 'string' ? Buffer.from(content) : content);
}

/** 64 hexadecimal digits. */
export function appendKey(msg: Message, [form]: Body, deliveryId: string, repeat: Repeat): string {
  const { headers } = msg;
  const asReceived = repeat.headers !== undefined && isSame(headers, repeat.headers);
  const rest = encodeRecord(
    { ...msg, payload: undefined, sluice: undefined, headers: asReceived ? undefined : headers },
    [0, ''],
  );
  const parts = [deliveryId, form, asReceived, hash('sha256', rest), repeat.scope];
  return hash('sha256', parts.join('\n'));
}

/** Spread, because what a function node builds has prototypes of another realm. */
function isSame(headers: unknown, received: Readonly<Record<string, unknown>>): boolean {
  return typeof headers === 'object' && headers !== null && isDeepStrictEqual({ ...headers }, received);
}
