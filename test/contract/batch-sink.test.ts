import { afterEach, describe, expect, it } from 'vitest';
import { BatchSink, type BatchSinkOptions } from '#lib/batch/batch-sink';
import { batchToken } from '#lib/batch/batch-token';
import { createMetrics } from '#lib/metrics/metrics';
import { alertsFor } from '../harness/alerts';
import { failed, MemoryTarget } from '../harness/batch-target';
import { waitFor } from '../harness/wait';

const open: BatchSink<string>[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((sink) => sink.close(0)));
});

function make(options: Partial<BatchSinkOptions> = {}) {
  const target = new MemoryTarget();
  const metrics = createMetrics();
  const alerts = alertsFor(metrics);
  const feed = { isFed: true };
  const sink = new BatchSink<string>(
    {
      id: 's',
      name: 'db',
      type: 'db-sink',
      z: 'tab',
      policy: 'block',
      maxBacklog: 100,
      limits: { rows: 3, bytes: 1000, waitMs: 10_000 },
      isFed: () => feed.isFed,
      random: () => 0,
      ...options,
    },
    target,
    metrics,
    alerts.centre.place({ id: 's', name: 'db', type: 'db-sink' }),
  );
  open.push(sink);
  const deliver = (...values: string[]) =>
    values.map((value) => sink.deliver({ id: `id-${value}`, value, bytes: 10, source: 'in' }));
  return { sink, target, metrics, alerts, deliver, feed };
}
const outcomes = async (deliveries: readonly Promise<void>[]) =>
  (await Promise.allSettled(deliveries)).map((result) =>
    result.status === 'fulfilled' ? 'done' : (result.reason as { code: string }).code,
  );

describe('O43 O45 a sink that stores in batches', () => {
  it('sends a full batch at once, and settles each record when it is confirmed', async () => {
    const { target, deliver } = make();
    expect(await outcomes(deliver('a', 'b', 'c'))).toEqual(['done', 'done', 'done']);
    expect(target.calls.map(({ ids }) => ids)).toEqual([['id-a', 'id-b', 'id-c']]);
  });

  it('sends an incomplete batch when its oldest record has waited long enough', async () => {
    const { deliver } = make({ limits: { rows: 3, bytes: 1000, waitMs: 20 } });
    expect(await outcomes(deliver('a'))).toEqual(['done']);
  });

  it('sends at its bytes, and a record larger than all of them alone', async () => {
    const { target, deliver } = make({ limits: { rows: 100, bytes: 25, waitMs: 20 } });
    await outcomes(deliver('a', 'b', 'c'));
    expect(target.calls.map(({ ids }) => ids.length)).toEqual([2, 1]);
    const large = make({ limits: { rows: 100, bytes: 5, waitMs: 20 } });
    expect(await outcomes(large.deliver('a'))).toEqual(['done']);
  });

  it('sends at once when who feeds it has no more to give', async () => {
    const { feed, deliver } = make();
    const deliveries = deliver('a');
    feed.isFed = false;
    expect(await outcomes(deliveries)).toEqual(['done']);
  });

  it('O47 O74 refuses at its bound under block, counting what is under way', async () => {
    const { sink, target, deliver, feed } = make({ maxBacklog: 4 });
    let open = () => {};
    target.gate = new Promise((resolve) => (open = resolve));
    const taken = deliver('a', 'b', 'c', 'd');
    expect(sink.canTake(10, 1)).toBe(false);
    expect(await outcomes(deliver('e'))).toEqual(['ERR_SLUICE_BATCH_FULL']);
    expect(sink.status()).toMatchObject({ blocked: 1, dropped: 0, backlog: 4, level: 'full' });
    open();
    feed.isFed = false;
    expect(await outcomes(taken)).toEqual(['done', 'done', 'done', 'done']);
    expect(target.stored).toEqual(['a', 'b', 'c', 'd']);
  });

  it('O47 O74 evicts the oldest that waits under evict_oldest, counts and alerts, and never what is under way', async () => {
    const { sink, target, metrics, deliver, feed } = make({ maxBacklog: 4, policy: 'evict_oldest' });
    let open = () => {};
    target.gate = new Promise((resolve) => (open = resolve));
    const taken = deliver('a', 'b', 'c', 'd', 'e');
    expect(await outcomes([taken[3] as Promise<void>])).toEqual(['ERR_SLUICE_BATCH_EVICTED']);
    expect(sink.status()).toMatchObject({ blocked: 0, dropped: 1, level: 'full' });
    expect(await metrics.render()).toContain('sluice_records_dropped_total{place="db",reason="evicted"} 1');
    open();
    feed.isFed = false;
    expect(await outcomes(taken)).toEqual(['done', 'done', 'done', 'ERR_SLUICE_BATCH_EVICTED', 'done']);
    expect(target.stored).toEqual(['a', 'b', 'c', 'e']);
  });

  it('evict_oldest refuses when all that it holds is under way', async () => {
    const { target, deliver } = make({ maxBacklog: 3, policy: 'evict_oldest' });
    let open = () => {};
    target.gate = new Promise((resolve) => (open = resolve));
    const taken = deliver('a', 'b', 'c');
    expect(await outcomes(deliver('d'))).toEqual(['ERR_SLUICE_BATCH_FULL']);
    open();
    expect(await outcomes(taken)).toEqual(['done', 'done', 'done']);
  });

  it.each(['config', 'transient', 'unknown'] as const)(
    'keeps the batch after a %s failure and sends the identical one with its token',
    async (kind) => {
      const { sink, target, alerts, deliver, feed } = make();
      let down = true;
      const failure = { kind, error: failed(kind === 'config' ? 'config' : 'transient') };
      target.answer = () => (down ? failure : undefined);
      const deliveries = deliver('a', 'b', 'c');
      await target.called(1);
      const later = deliver('d');
      await target.called(2);
      expect(sink.status()).toMatchObject({ fault: 'ERR_SLUICE_DELIVERY_FAILED', retained: 3, failed: 0 });
      down = false;
      expect(await outcomes(deliveries)).toEqual(['done', 'done', 'done']);
      expect(new Set(target.calls.map(({ token }) => token)).size).toBe(1);
      expect(target.stored).toEqual(['a', 'b', 'c']);
      expect(alerts.told.filter((alert) => alert.kind === 'fault').map(({ level }) => level)).toEqual(
        kind === 'config' ? ['full'] : [],
      );
      feed.isFed = false;
      await outcomes(later);
    },
  );

  it('sends records that were refused for a reason of the destination together with those that came since', async () => {
    const { target, deliver, feed } = make();
    let isWrong = true;
    target.answer = () => (isWrong ? { kind: 'config', error: failed('config') } : undefined);
    const first = deliver('a');
    feed.isFed = false;
    await target.called(1);
    isWrong = false;
    expect(await outcomes([...first, ...deliver('b', 'c', 'd')].slice(0, 3))).toEqual([
      'done',
      'done',
      'done',
    ]);
    expect(target.calls[1]?.ids).toEqual(['id-a', 'id-b', 'id-c']);
  });

  it('never takes a batch apart while its outcome is unknown', async () => {
    const { target, deliver } = make();
    const answers = ['unknown', 'data'];
    target.answer = () => {
      const kind = answers.shift();
      if (kind === 'unknown') return { kind, error: failed('transient') };
      return kind === 'data' ? { kind, error: failed('permanent') } : undefined;
    };
    await outcomes(deliver('a', 'b', 'c'));
    expect(target.calls.map(({ ids }) => ids.length)).toEqual([3, 3, 1, 1, 1]);
  });

  it('N2 stores the good rows of a refused batch and fails the bad ones for good, with the reason', async () => {
    const { target, sink, deliver } = make();
    target.refuse(new Set(['b']));
    expect(await outcomes(deliver('a', 'b', 'c'))).toEqual(['done', 'ERR_SLUICE_DELIVERY_FAILED', 'done']);
    expect(target.stored).toEqual(['a', 'c']);
    expect(sink.status()).toMatchObject({ delivered: 2, failed: 1, backlog: 0 });
  });

  it('N2 keeps what is left when the destination goes away while a batch is taken apart', async () => {
    const { target, deliver } = make();
    let inserts = 0;
    target.answer = (rows) => {
      inserts += 1;
      if (inserts === 2) return { kind: 'transient', error: failed('transient') };
      return rows.some(({ value }) => value === 'b')
        ? { kind: 'data', error: failed('permanent') }
        : undefined;
    };
    expect(await outcomes(deliver('a', 'b', 'c'))).toEqual(['done', 'ERR_SLUICE_DELIVERY_FAILED', 'done']);
    expect(target.stored).toEqual(['a', 'c']);
  });

  it('fails rows that the target names by itself, and sends the others together', async () => {
    const { target, deliver } = make();
    target.answer = (rows) => {
      const at = rows.findIndex(({ value }) => value === 'b');
      return at < 0 ? undefined : { kind: 'rows', faults: new Map([[at, failed('permanent')]]) };
    };
    expect(await outcomes(deliver('a', 'b', 'c'))).toEqual(['done', 'ERR_SLUICE_DELIVERY_FAILED', 'done']);
    expect(target.calls.map(({ ids }) => ids.length)).toEqual([3, 2]);
  });

  it('names a batch by its deliveries and their order, and by nothing else', () => {
    expect(batchToken(['a', 'b'])).toBe(batchToken(['a', 'b']));
    expect(new Set([batchToken(['a', 'b']), batchToken(['b', 'a']), batchToken(['ab'])]).size).toBe(3);
  });

  it('sends what waits when it closes', async () => {
    const { sink, target, deliver } = make();
    const deliveries = deliver('a');
    await sink.close();
    expect(await outcomes(deliveries)).toEqual(['done']);
    expect(target.closed).toBe(true);
    expect(await outcomes(deliver('b'))).toEqual(['ERR_SLUICE_DELIVERY_ABORTED']);
  });

  it('gives back as aborted what it can not send when it closes', async () => {
    const { sink, target, deliver } = make();
    target.answer = () => ({ kind: 'transient', error: failed('transient') });
    const deliveries = deliver('a', 'b', 'c', 'd');
    await target.called(1);
    await sink.close();
    expect(new Set(await outcomes(deliveries))).toEqual(new Set(['ERR_SLUICE_DELIVERY_ABORTED']));
  });

  it('asks a destination that fails while it closes no more than that once', async () => {
    const { sink, target, deliver } = make();
    target.answer = () => ({ kind: 'transient', error: failed('transient') });
    const ended = outcomes(deliver('a', 'b', 'c', 'd', 'e', 'f', 'g'));
    await waitFor('the failure', () => sink.fault !== undefined);
    await sink.close();
    expect(target.calls).toHaveLength(2);
    expect(new Set(await ended)).toEqual(new Set(['ERR_SLUICE_DELIVERY_ABORTED']));
  });

  it('raises an alert for what should pass by itself and does not', async () => {
    const { target, alerts, deliver } = make({ retry: { initialMs: 2, maxMs: 2 } });
    const toldAtInsert: number[] = [];
    target.answer = () => {
      const { length } = toldAtInsert;
      toldAtInsert.push(alerts.told.filter(({ kind }) => kind === 'fault').length);
      return length < 6 ? { kind: 'transient', error: failed('transient') } : undefined;
    };
    expect(await outcomes(deliver('a', 'b', 'c'))).toEqual(['done', 'done', 'done']);
    expect(toldAtInsert).toEqual([0, 0, 0, 0, 0, 0, 1]);
  });

  it('closes within its grace when the destination never answers', async () => {
    const { sink, target, deliver } = make();
    let open = () => {};
    target.gate = new Promise((resolve) => (open = resolve));
    const deliveries = deliver('a', 'b', 'c');
    const close = sink.close(20);
    setTimeout(open, 60);
    await close;
    expect(new Set(await outcomes(deliveries))).toEqual(new Set(['ERR_SLUICE_DELIVERY_ABORTED']));
  });
});
