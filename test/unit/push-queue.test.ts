import { describe, expect, it } from 'vitest';
import { DeliveryError, StoreError } from '#lib/errors/errors';
import { MemoryStore } from '#lib/queue/memory-store';
import { PushQueue, type PushQueueOptions } from '#lib/queue/push-queue';
import { alertsFor } from '../harness/alerts';
import { flush } from './drain-fixture';

const bytes = (size: number) => new Uint8Array(size);

function queueOf(options: Partial<PushQueueOptions> = {}, store: MemoryStore = new MemoryStore()) {
  const queue = new PushQueue({
    id: 'q',
    name: 'push',
    type: 'push-queue',
    z: 'tab',
    policy: 'block',
    quotaBytes: 10_000,
    random: () => 0,
    ...options,
  });
  queue.attach(store);
  return { queue, store };
}

/** A store whose appends wait until they are let through or fail. */
class SlowStore extends MemoryStore {
  readonly waiting: { pass: () => void; fail: (error: Error) => void }[] = [];
  override append(...args: Parameters<MemoryStore['append']>): ReturnType<MemoryStore['append']> {
    return new Promise((resolve, reject) => {
      const pass = () => void super.append(...args).then(resolve, reject);
      this.waiting.push({ pass, fail: reject });
    });
  }
}

async function drainOne(store: MemoryStore): Promise<void> {
  const [lease] = await store.lease(1, 1);
  if (lease) await store.settle({ seq: lease.seq, outcome: 'done' });
}

describe('a push queue and its dead letters', () => {
  it('O66 tells how many of the oldest dead letters were deleted for room, since it was started', async () => {
    const trimmed: number[] = [];
    const store = new MemoryStore(Date.now, 2);
    const bury = async (count: number) => {
      for (let n = 0; n < count; n++) await store.append(bytes(1));
      for (const { seq } of await store.lease(count, 1000)) {
        await store.settle({ seq, outcome: 'dead', reason: 'no', code: 'E_NO' });
      }
    };
    await bury(3);
    const { queue } = queueOf({ onTrimmed: (records) => trimmed.push(records) }, store);
    await bury(2);
    expect(trimmed).toEqual([1, 1]);
    expect(queue.status()).toMatchObject({ dead: 2, dead_trimmed_total: 3 });
  });
});

describe('a push queue under block', () => {
  it('O10 refuses the new record at the quota, deletes nothing and counts it as blocked', async () => {
    const { queue, store } = queueOf();
    await queue.offer(bytes(10_000));
    const refusal = await queue.offer(bytes(1)).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(DeliveryError);
    expect(refusal).toMatchObject({ code: 'ERR_SLUICE_QUEUE_FULL', failure: 'transient' });
    expect(store.counts()).toMatchObject({ records: 1, bytes: 10_000, evictedTotal: 0 });
    expect(queue.status()).toMatchObject({ blocked_total: 1, blocked: 1, evicted_total: 0, dropped: 0 });
  });

  it('O13 BP-07 takes exactly 10 of 500 records offered in one turn, before any is committed', async () => {
    const store = new SlowStore();
    const { queue } = queueOf({}, store);
    const offers = Array.from({ length: 500 }, () => queue.offer(bytes(1000)));
    const outcomes = Promise.allSettled(offers);
    await flush();
    expect(store.waiting).toHaveLength(10);
    for (const { pass } of store.waiting) pass();
    const settled = await outcomes;
    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
    expect(store.counts().bytes).toBe(10_000);
    expect(queue.status().blocked_total).toBe(490);
  });

  it('O13 gives the room back when the write fails', async () => {
    const store = new SlowStore();
    const { queue } = queueOf({}, store);
    const offer = queue.offer(bytes(10_000)).catch((error: unknown) => error);
    expect(queue.canTake(1, 1)).toBe(false);
    store.waiting[0]?.fail(new Error('disk full'));
    await offer;
    expect(queue.canTake(10_000, 1)).toBe(true);
  });

  it('O14 BP-09 admits a record larger than the quota when the queue is empty, and nothing beside it', async () => {
    const { queue, store } = queueOf({ quotaBytes: 1000 });
    await queue.offer(bytes(5000));
    expect(queue.status()).toMatchObject({ fill_pct: 500, level: 'full', blocking: true });
    await expect(queue.offer(bytes(1))).rejects.toMatchObject({ code: 'ERR_SLUICE_QUEUE_FULL' });
    await drainOne(store);
    await expect(queue.offer(bytes(1))).resolves.toMatchObject({ duplicate: false });
  });

  it('PQ-03 counts what is queued: a drained queue is empty and takes records again', async () => {
    const { queue, store } = queueOf();
    await queue.offer(bytes(9000));
    expect(queue.canTake(2000, 1)).toBe(false);
    await drainOne(store);
    expect(queue.status()).toMatchObject({ fill_pct: 0, records: 0 });
    expect(queue.canTake(2000, 1)).toBe(true);
  });

  it('O6 counts what the store held when it was opened', async () => {
    const store = new MemoryStore();
    await store.append(bytes(9500));
    const { queue } = queueOf({}, store);
    expect(queue.status()).toMatchObject({ quota_bytes: 10_000, fill_pct: 95, level: 'high' });
    expect(queue.canTake(501, 1)).toBe(false);
    expect(queue.canTake(500, 1)).toBe(true);
  });

  it('keeps room at the door for admitted records and gives it back once', () => {
    const { queue } = queueOf();
    const hold = queue.hold(6000, 1);
    expect(queue.canTake(5000, 1)).toBe(false);
    hold.release();
    hold.release();
    expect(queue.canTake(10_000, 1)).toBe(true);
    expect(queue.canTake(10_001, 1)).toBe(true);
  });

  it('takes a record that a flow sends back into its own full queue, so that the queue cannot hold itself up', async () => {
    const { queue, store } = queueOf();
    await queue.offer(bytes(10_000));
    const [lease] = await store.lease(1, 1);
    await expect(queue.offer(bytes(8000), { sentBack: true })).resolves.toMatchObject({ duplicate: false });
    await store.settle({ seq: lease?.seq ?? 0, outcome: 'done' });
    expect(store.counts()).toMatchObject({ records: 1, bytes: 8000 });
    expect(queue.canTake(2000, 1)).toBe(true);
  });

  it('stores a record with a known key once and gives the room of the second one back', async () => {
    const { queue, store } = queueOf();
    await queue.offer(bytes(4000), { key: 'k' });
    await expect(queue.offer(bytes(4000), { key: 'k' })).resolves.toMatchObject({ duplicate: true });
    expect(store.counts().records).toBe(1);
    expect(queue.canTake(6000, 1)).toBe(true);
  });

  it('N1 stores a record with a key from before its time', async () => {
    let nowMs = 1000;
    const { queue, store } = queueOf({}, new MemoryStore(() => nowMs));
    await queue.offer(bytes(10), { key: 'k' });
    nowMs = 2000;
    await expect(queue.offer(bytes(10), { key: 'k', keySince: 1000 })).resolves.toMatchObject({
      duplicate: true,
    });
    await expect(queue.offer(bytes(10), { key: 'k', keySince: 1001 })).resolves.toMatchObject({
      duplicate: false,
    });
    expect(store.counts().records).toBe(2);
  });

  it('O1 stores a record again whose first append failed', async () => {
    const store = new SlowStore();
    const { queue } = queueOf({}, store);
    const first = queue.offer(bytes(10), { key: 'k' }).catch((error: unknown) => error);
    store.waiting[0]?.fail(new Error('disk full'));
    await first;
    const second = queue.offer(bytes(10), { key: 'k' });
    store.waiting[1]?.pass();
    await expect(second).resolves.toMatchObject({ duplicate: false });
    expect(store.counts().records).toBe(1);
  });
});

describe('a push queue under evict_oldest', () => {
  it('O9 O60 deletes the oldest records to make room, counts and reports them', async () => {
    const evicted: number[] = [];
    const { queue, store } = queueOf({
      policy: 'evict_oldest',
      quotaBytes: 3000,
      onEvicted: (records) => evicted.push(records),
    });
    for (let index = 0; index < 5; index++) await queue.offer(bytes(1000));
    expect(store.counts()).toMatchObject({ records: 3, bytes: 3000 });
    expect((await store.lease(10, 10_000)).map(({ seq }) => seq)).toEqual([3, 4, 5]);
    expect(evicted.reduce((sum, records) => sum + records, 0)).toBe(2);
    expect(queue.status()).toMatchObject({ evicted_total: 2, dropped: 2, blocked_total: 0, level: 'full' });
  });

  it('O11 its sources never notice that it is full', async () => {
    const { queue } = queueOf({ policy: 'evict_oldest', quotaBytes: 3000 });
    for (let index = 0; index < 5; index++) await queue.offer(bytes(1000));
    expect(queue.canTake(100_000, 10)).toBe(true);
    expect(queue.status().blocking).toBe(false);
  });

  it('O37 raises one critical notice for evictions, and recovers when there is room again', async () => {
    const { queue, store } = queueOf({ policy: 'evict_oldest', quotaBytes: 2000 });
    for (let index = 0; index < 3; index++) await queue.offer(bytes(1000));
    const { centre, told } = alertsFor();
    centre.place(queue).watch(queue.alarm, queue.policy);
    centre.check();
    centre.check();
    expect(told).toMatchObject([{ level: 'full', severity: 'critical', count: 1 }]);
    await drainOne(store);
    await drainOne(store);
    centre.check();
    expect(told.slice(1)).toMatchObject([{ level: 'ok', severity: 'info' }]);
  });
});

describe('a push queue whose store has trouble', () => {
  it('O65 hands a write error to its producer, counts and reports it', async () => {
    const errors: Error[] = [];
    const store = new SlowStore();
    const { queue } = queueOf({ onWriteError: (error) => errors.push(error) }, store);
    const offer = queue.offer(bytes(10));
    const error = new StoreError('ERR_SLUICE_QUEUE_CLOSED', 'no space left');
    store.waiting[0]?.fail(error);
    await expect(offer).rejects.toBe(error);
    expect(errors).toEqual([error]);
    expect(queue.status()).toMatchObject({ write_errors_total: 1, delivered: 0 });
  });

  it('O1 tells its producer of success only after the commit', async () => {
    const store = new SlowStore();
    const { queue } = queueOf({}, store);
    let stored = false;
    const offer = queue.offer(bytes(10)).then(() => {
      stored = true;
    });
    await flush();
    expect(stored).toBe(false);
    store.waiting[0]?.pass();
    await offer;
    expect(stored).toBe(true);
  });

  it('refuses while it is being opened and after it could not be', async () => {
    const queue = new PushQueue({
      id: 'q',
      name: 'push',
      type: 'push-queue',
      z: 'tab',
      policy: 'evict_oldest',
      quotaBytes: 1000,
    });
    expect(queue.canTake(1, 1)).toBe(false);
    await expect(queue.offer(bytes(1))).rejects.toMatchObject({
      code: 'ERR_SLUICE_QUEUE_OPENING',
      failure: 'transient',
    });
    expect(queue.retryAfterSecs()).toBe(1);
    const fault = new StoreError('ERR_SLUICE_QUEUE_CLOSED', 'locked');
    queue.fail(fault);
    expect(queue.retryAfterSecs()).toBe(30);
    await expect(queue.offer(bytes(1))).rejects.toBe(fault);
  });

  it('O37 a refusal before it is open is counted, and is no sign of a full queue', () => {
    const queue = new PushQueue({
      id: 'q',
      name: 'push',
      type: 'push-queue',
      z: 'tab',
      policy: 'block',
      quotaBytes: 1000,
    });
    queue.countBlocked(3);
    expect(queue.status()).toMatchObject({
      state: 'opening',
      blocked_total: 3,
      level: 'ok',
      blocking: false,
    });
    queue.fail(new StoreError('ERR_SLUICE_QUEUE_LOCKED', 'locked'));
    expect(queue.status()).toMatchObject({ state: 'failed', fault: 'ERR_SLUICE_QUEUE_LOCKED' });
    queue.countBlocked(1);
    expect(queue.alarm.look()).toBeUndefined();
    queue.attach(new MemoryStore());
    expect(queue.status()).toMatchObject({ state: 'open', fault: null, blocked_total: 4, level: 'ok' });
    expect(queue.canTake(1, 1)).toBe(true);
  });

  it('O64 refuses, and drops nothing, while 8192 records wait for a stalled disk', async () => {
    const store = new SlowStore();
    const { queue } = queueOf({ policy: 'evict_oldest', quotaBytes: 1_000_000_000 }, store);
    const offers = Promise.allSettled(Array.from({ length: 8193 }, () => queue.offer(bytes(1))));
    await flush();
    expect(store.waiting).toHaveLength(8192);
    expect(queue.canTake(1, 1)).toBe(false);
    for (const { pass } of store.waiting) pass();
    const refused = (await offers).filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(1);
    expect(refused[0]).toMatchObject({
      reason: { code: 'ERR_SLUICE_QUEUE_WRITER_FULL', failure: 'transient' },
    });
    expect(queue.status()).toMatchObject({ blocked_total: 1, evicted_total: 0, records: 8192 });
  });
});

describe('what a push queue tells', () => {
  it("O40 O42 has the document's fields, lost and refused apart", async () => {
    const { queue } = queueOf();
    await queue.offer(bytes(8000));
    expect(queue.status()).toMatchObject({
      on_full: 'block',
      quota_bytes: 10_000,
      fill_pct: 80,
      blocking: false,
      blocked_total: 0,
      evicted_total: 0,
      level: 'high',
      dropped: 0,
      blocked: 0,
    });
  });

  it('N10 derives Retry-After from the measured drain rate, between 1 and 300 seconds', async () => {
    let nowMs = 0;
    const { queue } = queueOf({ quotaBytes: 100_000, now: () => nowMs }, new MemoryStore(() => nowMs));
    await queue.offer(bytes(100_000));
    expect(queue.canTake(5000, 1)).toBe(false);
    expect(queue.retryAfterSecs()).toBe(10);
    nowMs = 10_000;
    for (let index = 0; index < 10; index++) queue.countDelivered(1000);
    // 1000 bytes a second have left; 5000 more than there is room for need 5 seconds.
    await queue.offer(bytes(5000)).catch(() => undefined);
    expect(queue.retryAfterSecs()).toBe(5);
    await queue.offer(bytes(90_000)).catch(() => undefined);
    expect(queue.retryAfterSecs()).toBe(90);
    await queue.offer(bytes(900_000)).catch(() => undefined);
    expect(queue.retryAfterSecs()).toBe(300);
    await queue.offer(bytes(1)).catch(() => undefined);
    expect(queue.retryAfterSecs()).toBe(1);
  });

  it('N6 tells how long it takes until it is full, while it fills up', async () => {
    let nowMs = 0;
    const { queue } = queueOf({ quotaBytes: 100_000, now: () => nowMs }, new MemoryStore(() => nowMs));
    expect(queue.status()).toMatchObject({ full_in_secs: null });
    nowMs = 10_000;
    for (let index = 0; index < 10; index++) await queue.offer(bytes(2000));
    for (let index = 0; index < 10; index++) queue.countDelivered(1000);
    // 1000 bytes a second more come than go, and 80,000 have room.
    expect(queue.status()).toMatchObject({ full_in_secs: 80 });
    expect(queue.reading().secsToFull).toBe(80);
    for (let index = 0; index < 10; index++) queue.countDelivered(1000);
    expect(queue.status()).toMatchObject({ full_in_secs: null });
  });
});
