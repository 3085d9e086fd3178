import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PushQueue } from '#lib/queue/push-queue';
import { openSqliteStore } from '#lib/queue/sqlite-store';
import { makeRecords, pause } from './load.mjs';

const QUOTA_BYTES = 20 * 2 ** 20;
const BURST = 100_000;

/** A burst far beyond the quota under `block`, then a full drain: bytes over the quota, and what is left of the file. */
export async function burst(
  dir: string,
): Promise<{ readonly overshoot: number; readonly fileBytes: number }> {
  const file = join(dir, 'burst.db');
  const store = await openSqliteStore({ file });
  const queue = new PushQueue({
    id: 'q',
    name: 'q',
    type: 'push-queue',
    z: 'z',
    policy: 'block',
    quotaBytes: QUOTA_BYTES,
  });
  queue.attach(store);
  const records = makeRecords();
  let most = 0;
  for (let sent = 0; sent < BURST; sent += 8000) {
    await Promise.allSettled(
      Array.from({ length: 8000 }, (_, index) => queue.offer(records[index % 256] ?? Buffer.alloc(0))),
    );
    most = Math.max(most, store.counts().bytes);
  }
  while (store.counts().records > 0) {
    const leases = await store.lease(4096, 2 ** 24);
    await Promise.all(leases.map(({ seq }) => store.settle({ seq, outcome: 'done' })));
  }
  const size = async () => (await stat(file)).size;
  for (let tries = 0; tries < 100 && (await size()) >= 2 ** 20; tries++) await pause(50);
  const fileBytes = await size();
  await queue.detach();
  await store.close();
  return { overshoot: Math.max(0, most - QUOTA_BYTES), fileBytes };
}
