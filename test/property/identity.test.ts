import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Repeat, Trace } from '#lib/delivery/lineage/contract';
import { DeliveryIds } from '#lib/delivery/lineage/delivery-id';
import type { LeasedRecord } from '#lib/queue/contract';
import { MemoryStore } from '#lib/queue/memory-store';
import { decodeRecord } from '#lib/queue/record-format';
import { originOf, recordOf, stampOf } from '#nodes/push-queue/push-queue.record';

/*
 * A source that sends its records again and again into a flow whose output may differ each time, in content and order,
 * and a queue that refuses, evicts and gives up at random. Few values, so that messages are often alike.
 */
const WINDOW_MS = 50;
const QUEUE = { id: 'q', name: 'q' };

const content = fc.record({
  payload: fc.constantFrom<unknown>('1', '1', 1, Buffer.from('1')),
  topic: fc.constantFrom(undefined, 'x'),
  parts: fc.constantFrom(undefined, undefined, { id: 'p' }),
  headers: fc.constantFrom('kept', 'kept', 'changed', 'deleted'),
});
type Content = typeof content extends fc.Arbitrary<infer C> ? C : never;

const attempt = fc.record({
  id: fc.constantFrom('a', 'a', 'a', 'b'),
  waitMs: fc.constantFrom(0, 10, 60),
  picks: fc.array(fc.nat(2), { minLength: 1, maxLength: 5 }),
  refused: fc.array(fc.constantFrom(false, false, true), { minLength: 5, maxLength: 5 }),
  then: fc.constantFrom('queued', 'queued', 'delivered', 'dead', 'evicted'),
});

type Attempt = typeof attempt extends fc.Arbitrary<infer A> ? A : never;

function traceOf(id: string, repeat: Repeat): Trace {
  const ids = new DeliveryIds(`hook:${id}`);
  return {
    stamp: { id, source: 'hook', receivedAt: repeat.since, attempt: 1 },
    lease: undefined,
    repeat,
    caught: undefined,
    caughtError: undefined,
    caughtKept: false,
    source: undefined as never,
    origin: `hook:${id}`,
    accepted: false,
    replayOf: undefined,
    deadLetter: false,
    takeHold() {},
    deliveryId: (sinkId, bytes) => ids.next(sinkId, bytes),
    custody() {},
    pauseTimeout: () => () => {},
  };
}

let requests = 0;

/** Makes the records of one attempt; the headers that the source sets differ each time. */
function attemptAt(now: number, id: string) {
  const received = { 'x-request': String(requests++) };
  const headersOf = { kept: received, changed: { ...received, kind: 'own' }, deleted: undefined };
  const trace = traceOf(id, { scope: '', since: now - WINDOW_MS, headers: { ...received } });
  return ({ headers, ...message }: Content) =>
    recordOf({ ...message, headers: headersOf[headers] }, trace, QUEUE, now);
}

function originIn(record: Uint8Array): string {
  const msg = decodeRecord(record);
  return originOf(msg, stampOf(msg, 'q', { seq: 0, storedAt: 0 } as LeasedRecord));
}

/** What tells a record from others, but for headers that the source set. */
function identityOf(record: Uint8Array): string {
  const { headers, sluice: _, ...message } = decodeRecord(record);
  const changed = typeof headers === 'object' && headers !== null && 'kind' in headers;
  return JSON.stringify([originIn(record), changed ? headers : headers === undefined, message]);
}

describe('what a queue takes for stored already', () => {
  it('N1 O1 is only what it holds or has delivered: never other data, never what was lost', async () => {
    const pools = fc.array(content, { minLength: 1, maxLength: 4 });
    const attempts = fc.array(attempt, { minLength: 2, maxLength: 12 });
    let repeats = 0;
    const check = async (pool: readonly Content[], steps: readonly Attempt[]) => {
      let now = 1_000_000;
      const store = new MemoryStore(() => now);
      const safe = new Map<number, { identity: string; at: number; delivered: boolean }>();
      for (const { id, waitMs, picks, refused, then } of steps) {
        now += waitMs;
        const make = attemptAt(now, id);
        const origins = new Set<string>();
        for (const [index, pick] of picks.entries()) {
          const { record, ...key } = make(pool[pick % pool.length] as Content);
          origins.add(originIn(record));
          if (refused[index]) continue;
          const { seq, duplicate } = await store.append(record, key);
          if (duplicate) repeats += 1;
          else safe.set(seq, { identity: identityOf(record), at: now, delivered: false });
          expect(safe.get(seq)?.identity).toBe(identityOf(record));
          expect(safe.get(seq)?.at).toBeGreaterThanOrEqual(now - WINDOW_MS);
        }
        // Each of them is a delivery of its own to whatever is behind the queue.
        expect(origins.size).toBe(picks.length);
        if (then === 'evicted') {
          await store.append(new Uint8Array(1), { evictDownTo: Math.floor(store.counts().bytes / 2) });
        }
        const leases = await store.lease(1000, 1e9);
        const left = new Set(leases.map(({ seq }) => seq));
        for (const [seq, record] of safe) {
          const lost = then === 'dead' ? left.has(seq) : then === 'evicted' && !left.has(seq);
          if (lost && !record.delivered) safe.delete(seq);
          if (then === 'delivered') record.delivered = true;
        }
        for (const seq of left) {
          if (then === 'delivered') await store.settle({ seq, outcome: 'done' });
          else if (then === 'dead') await store.settle({ seq, outcome: 'dead', reason: 'r', code: 'X' });
          else await store.settle({ seq, outcome: 'retry', dueAt: now, spend: true, unknown: false });
        }
      }
    };
    await fc.assert(fc.asyncProperty(pools, attempts, check), { numRuns: 1000, endOnFailure: true });
    expect(repeats).toBeGreaterThan(300);
  });

  it('N1 is the same attempt sent again within the window, but no later', async () => {
    const unchanged = content.filter(({ headers }) => headers !== 'changed');
    const check = async (messages: readonly Content[]) => {
      let now = 1_000_000;
      const store = new MemoryStore(() => now);
      const send = async () => {
        const make = attemptAt(now, 'a');
        for (const message of messages) {
          const { record, ...key } = make(message);
          await store.append(record, key);
        }
        return store.counts().records;
      };
      expect(await send()).toBe(messages.length);
      now += WINDOW_MS;
      expect(await send()).toBe(messages.length);
      now += 1;
      expect(await send()).toBe(2 * messages.length);
    };
    const messages = fc.array(unchanged, { minLength: 1, maxLength: 6 });
    await fc.assert(fc.asyncProperty(messages, check), { numRuns: 200 });
  });
});
