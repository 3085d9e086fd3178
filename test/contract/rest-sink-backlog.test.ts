import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DeliveryError } from '#lib/errors/errors';
import { encodeElement } from '#nodes/rest-sink/rest-sink.request';
import { gate, startDestination, type Destination } from '../harness/destination';
import { waitFor } from '../harness/wait';
import { closeSinks, failures, makeSink, record } from './rest-sink.harness';

let destination: Destination;
beforeEach(async () => {
  destination = await startDestination();
});
afterEach(async () => {
  await closeSinks();
  await destination.close();
});

const codes = (errors: readonly unknown[]) =>
  errors.map((error) => (error instanceof DeliveryError ? error.code : error));
const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);

describe('the backlog', () => {
  it('never has more requests under way than its concurrency, and delivers each record once', async () => {
    destination.answer(() => ({ after: setTimeout(1) }));
    const { sink } = makeSink({ url: destination.url, concurrency: 3 });
    await Promise.all(numbers(200).map((n) => sink.deliver(record(n))));
    expect(destination.peak).toBe(3);
    expect(destination.requests.map(({ text }) => Number(text)).sort((a, b) => a - b)).toEqual(numbers(200));
  });

  it('O42 refuses what goes beyond its bound, to the record, and counts it as blocked and not as dropped', async () => {
    const { opened, open } = gate();
    destination.answer(() => ({ after: opened }));
    const { sink, metrics } = makeSink({ url: destination.url, concurrency: 2, maxBacklog: 10 });
    const deliveries = numbers(50).map((n) => sink.deliver(record(n)));
    const settled = failures(deliveries);
    expect(sink.status()).toMatchObject({ backlog: 10, requests: 2, blocked: 38, dropped: 0, level: 'full' });
    expect(sink.canTake(1, 1)).toBe(false);
    open();
    const errors = await settled;
    expect(errors.slice(0, 12)).toEqual(numbers(12).map(() => undefined));
    expect(new Set(codes(errors.slice(12)))).toEqual(new Set(['ERR_SLUICE_REST_BACKLOG_FULL']));
    expect(errors[12]).toMatchObject({ failure: 'transient' });
    expect(sink.status()).toMatchObject({ backlog: 0, delivered: 12, blocked: 38, dropped: 0 });
    const text = await metrics.render();
    expect(text).toContain('sluice_records_refused_total{source="orders",sink="rest"} 38');
    expect(text).toContain('sluice_records_dropped_total{place="rest",reason="evicted"} 0');
    expect(text).toContain('sluice_records_delivered_total{sink="rest"} 12');
  });

  it('O42 evicts the oldest waiting and counts it as dropped and not as blocked', async () => {
    const { opened, open } = gate();
    destination.answer(() => ({ after: opened }));
    const { sink, metrics } = makeSink({
      url: destination.url,
      concurrency: 1,
      maxBacklog: 3,
      onFull: 'evict_oldest',
    });
    const settled = failures(numbers(10).map((n) => sink.deliver(record(n))));
    expect(sink.status()).toMatchObject({ backlog: 3, requests: 1, dropped: 6, blocked: 0, level: 'full' });
    expect(sink.canTake(1, 1)).toBe(true);
    open();
    const evicted = 'ERR_SLUICE_REST_EVICTED';
    const none = undefined;
    expect(codes(await settled)).toEqual([none, ...numbers(6).map(() => evicted), none, none, none]);
    expect(destination.requests.map(({ text }) => text)).toEqual(['0', '7', '8', '9']);
    expect(await metrics.render()).toContain('sluice_records_dropped_total{place="rest",reason="evicted"} 6');
  });

  it('counts room held at the door', async () => {
    const { sink } = makeSink({ url: destination.url, maxBacklog: 2 });
    const holds = [sink.hold(1, 1), sink.hold(1, 1)];
    expect(sink.canTake(1, 1)).toBe(false);
    holds[0]!.release();
    expect(sink.canTake(1, 1)).toBe(true);
    await expect(sink.deliver(record(1))).resolves.toMatchObject({ statusCode: 200 });
  });

  it('O60 refuses at the door and says when to come back', () => {
    const { sink } = makeSink({ url: destination.url });
    sink.countBlocked(2);
    expect(sink.status()).toMatchObject({ blocked: 2, dropped: 0, level: 'full' });
    expect(sink.retryAfterSecs()).toBe(1);
  });
});

describe('Retry-After', () => {
  const forms: [string, () => string][] = [
    ['seconds', () => '1'],
    // Dates have whole seconds: the second but one is between one and two seconds away.
    ['a date', () => new Date(Date.now() + 2000).toUTCString()],
  ];
  it.each(forms)('given as %s keeps the sink from sending until it has passed', async (_, header) => {
    let until = 0;
    destination.answer(({ text, at }) => {
      if (text !== '0') return {};
      const value = header();
      until = /^\d+$/.test(value) ? at + Number(value) * 1000 : Date.parse(value);
      return { status: 429, headers: { 'retry-after': value } };
    });
    const { sink } = makeSink({ url: destination.url, concurrency: 1 });
    const refused = sink.deliver(record(0));
    const waiting = sink.deliver(record(1));
    const error: unknown = await refused.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'ERR_SLUICE_REST_BUSY', failure: 'transient' });
    expect((error as DeliveryError).retryAfterMs).toBeGreaterThan(900);
    expect((error as DeliveryError).retryAfterMs).toBeLessThanOrEqual(2000);
    expect(sink.status()).toMatchObject({ backlog: 1, requests: 0 });
    expect(sink.retryAfterSecs()).toBeGreaterThanOrEqual(1);
    await waiting;
    // Timers and Date may differ by a millisecond.
    expect(destination.requests[1]!.at).toBeGreaterThanOrEqual(until - 2);
  });

  it('of a day or a year holds the records that wait, and closing frees them', async () => {
    destination.answer(() => ({ status: 503, headers: { 'retry-after': '31536000' } }));
    const { sink } = makeSink({ url: destination.url, concurrency: 1 });
    await failures([sink.deliver(record(0))]);
    const waiting = failures([sink.deliver(record(1))]);
    expect(sink.retryAfterSecs()).toBe(300);
    await sink.close(0);
    expect(codes(await waiting)).toEqual(['ERR_SLUICE_DELIVERY_ABORTED']);
    expect(destination.requests).toHaveLength(1);
  });
});

describe('batches', () => {
  const element = (n: number) => ({ ...encodeElement({ n }), deliveryId: `id-${n}`, source: 'orders' });
  const sent = () => destination.requests.map(({ text }) => JSON.parse(text) as { n: number }[]);

  it('send full arrays at once and the rest after a short wait', async () => {
    const { sink } = makeSink({ url: destination.url, batch: 4, concurrency: 1 });
    await Promise.all(numbers(10).map((n) => sink.deliver(element(n))));
    expect(sent().map((batch) => batch.length)).toEqual([4, 4, 2]);
    expect(sent().flat()).toEqual(numbers(10).map((n) => ({ n })));
  });

  it('N2 give each record its own verdict when some are refused for their data', async () => {
    const bad = new Set([3, 4, 9]);
    destination.answer(({ text }) => {
      const batch = JSON.parse(text) as { n: number }[];
      return { status: batch.some(({ n }) => bad.has(n)) ? 422 : 200 };
    });
    const { sink } = makeSink({ url: destination.url, batch: 10 });
    const errors = await failures(numbers(10).map((n) => sink.deliver(element(n))));
    expect(numbers(10).filter((n) => errors[n] !== undefined)).toEqual([...bad]);
    expect(errors[3]).toMatchObject({ code: 'ERR_SLUICE_REST_REJECTED', failure: 'permanent' });
    expect(sink.status()).toMatchObject({ delivered: 7, failed: 3 });
  });

  it('never call a record permanent that was not tried alone: a pause amid the split is transient', async () => {
    destination.answer(({ text }) => {
      const { length } = JSON.parse(text) as unknown[];
      return length === 4 ? { status: 400 } : { status: 429, headers: { 'retry-after': '30' } };
    });
    const { sink } = makeSink({ url: destination.url, batch: 4 });
    const errors = await failures(numbers(4).map((n) => sink.deliver(element(n))));
    for (const error of errors) expect(error).toMatchObject({ failure: 'transient' });
    expect(destination.requests).toHaveLength(2);
  });

  it('have the same key when the same batch is sent again', async () => {
    const { sink } = makeSink({ url: destination.url, batch: 2 });
    for (let round = 0; round < 2; round += 1) await Promise.all([1, 2].map((n) => sink.deliver(element(n))));
    const [first, second] = destination.requests;
    expect(first!.headers['idempotency-key']).toMatch(/^[0-9a-f]{64}$/);
    expect(second!.headers['idempotency-key']).toBe(first!.headers['idempotency-key']);
  });
});

describe('closing', () => {
  it('fails what waits, lets requests under way finish and takes nothing new', async () => {
    const { opened, open } = gate();
    destination.answer(() => ({ after: opened }));
    const { sink } = makeSink({ url: destination.url, concurrency: 1 });
    const settled = failures([sink.deliver(record(0)), sink.deliver(record(1))]);
    await waitFor('the first request', () => destination.requests.length === 1);
    const closed = sink.close();
    open();
    await closed;
    expect(codes(await settled)).toEqual([undefined, 'ERR_SLUICE_DELIVERY_ABORTED']);
    await expect(sink.deliver(record(2))).rejects.toMatchObject({ failure: 'transient' });
    expect(destination.requests).toHaveLength(1);
  });

  it('N13 ends requests that take too long as aborted, which keeps their records', async () => {
    destination.answer(() => ({ after: new Promise(() => {}) }));
    const { sink, metrics } = makeSink({ url: destination.url });
    const settled = failures([sink.deliver(record(0))]);
    await waitFor('the request', () => destination.requests.length === 1);
    await sink.close(10);
    expect(await settled).toEqual([
      expect.objectContaining({ code: 'ERR_SLUICE_DELIVERY_ABORTED', failure: 'transient' }),
    ]);
    expect(await metrics.render()).toContain(
      'sluice_delivery_attempts_total{sink="rest",outcome="aborted"} 1',
    );
  });

  it('N13 sends no further part of a batch that was being split', async () => {
    destination.answer(({ text }) => {
      const { length } = JSON.parse(text) as unknown[];
      return length === 4 ? { status: 400 } : { after: new Promise(() => {}) };
    });
    const { sink } = makeSink({ url: destination.url, batch: 4 });
    const settled = failures(
      numbers(4).map((n) => sink.deliver({ ...encodeElement(n), deliveryId: `id-${n}`, source: 'orders' })),
    );
    await waitFor('the first half', () => destination.requests.length === 2);
    await sink.close(10);
    expect(new Set(codes(await settled))).toEqual(new Set(['ERR_SLUICE_DELIVERY_ABORTED']));
    expect(destination.requests).toHaveLength(2);
  });
});
