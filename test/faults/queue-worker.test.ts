import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BroadcastChannel } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StoreError } from '#lib/errors/errors';
import { openSqliteStore, type SqliteStore } from '#lib/queue/sqlite-store';
import { waitFor } from '../harness/wait';

const workerFile = join(import.meta.dirname, 'queue-worker.wrapper.cjs');

describe('a queue whose worker thread dies', () => {
  let dir: string;
  let store: SqliteStore;
  let faults: (Error | undefined)[];
  const channel = new BroadcastChannel('queue-worker-switch');
  const healthy = () => waitFor('a new worker', () => faults.length >= 2 && faults.at(-1) === undefined);

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'sluice-worker-'));
    store = await openSqliteStore({ file: join(dir, 'q.db'), workerFile });
    faults = [];
    store.onHealth((fault) => faults.push(fault));
  });
  afterEach(async () => {
    await store.close();
    await rm(dir, { recursive: true, force: true });
  });

  it.each(['exit', 'throw'])('O65 tells every producer in flight, and starts again (%s)', async (how) => {
    let acknowledged = 0;
    const refused: unknown[] = [];
    channel.postMessage(how);
    while (refused.length === 0) {
      const results = await Promise.allSettled(
        Array.from({ length: 300 }, () => store.append(Buffer.alloc(500))),
      );
      for (const result of results) {
        if (result.status === 'fulfilled') acknowledged++;
        else refused.push(result.reason);
      }
    }
    for (const error of refused) {
      expect(error).toBeInstanceOf(StoreError);
      expect(error).toMatchObject({ code: 'ERR_SLUICE_QUEUE_WORKER' });
    }
    expect(faults[0]).toMatchObject({ code: 'ERR_SLUICE_QUEUE_WORKER' });
    await healthy();
    expect(store.counts().records).toBeGreaterThanOrEqual(acknowledged);
    await store.append(Buffer.from('after'));
  });

  it('keeps leases over the loss, so that a record is not given out twice and its verdict still counts', async () => {
    for (const text of ['a', 'b', 'c', 'd']) await store.append(Buffer.from(text));
    const leases = await store.lease(3, 1e6);
    await store.settle({ seq: leases[2]?.seq ?? 0, outcome: 'retry', dueAt: 0, spend: true, unknown: false });
    await store.lease(1, 1e6);
    channel.postMessage('exit');
    await healthy();
    expect((await store.lease(9, 1e6)).map(({ record }) => Buffer.from(record).toString())).toEqual(['d']);
    for (const { seq } of leases) await store.settle({ seq, outcome: 'done' });
    expect(store.counts()).toMatchObject({ records: 1, parked: 0 });
  });

  it('settles later what it could not settle', async () => {
    await store.append(Buffer.from('a'));
    const [lease] = await store.lease(1, 1e6);
    channel.postMessage('exit');
    await waitFor('the loss', () => faults.length > 0);
    await expect(store.settle({ seq: lease?.seq ?? 0, outcome: 'done' })).rejects.toBeInstanceOf(StoreError);
    await waitFor('the settlement', () => store.counts().records === 0);
  });

  it('closes while it waits to start again', async () => {
    channel.postMessage('exit');
    await waitFor('the loss', () => faults.length > 0);
    await store.close();
    await expect(store.append(Buffer.from('x'))).rejects.toMatchObject({ code: 'ERR_SLUICE_QUEUE_CLOSED' });
  });
});
