import { performance } from 'node:perf_hooks';
import type { SqliteStore } from '#lib/queue/sqlite-store';
import { makeRecords, pause } from './load.mjs';

const RECORDS = makeRecords();

/** Producers, and a consumer that keeps up: records per second that were appended, leased and settled. */
export async function steadyLoad(store: SqliteStore, producers: number, ms: number): Promise<number> {
  let stopped = false;
  let settled = 0;
  const produce = async (index: number) => {
    const record = RECORDS[index % RECORDS.length] ?? Buffer.alloc(0);
    while (!stopped) await store.append(record);
  };
  let wake = () => {};
  const remove = store.onChange(() => wake());
  const consume = async () => {
    const settling = new Set<Promise<unknown>>();
    for (;;) {
      const leases = await store.lease(4096, 32 * 2 ** 20);
      if (leases.length === 0) {
        if (stopped && store.counts().records === 0) return;
        await Promise.race([new Promise<void>((resolve) => (wake = resolve)), pause(20)]);
        continue;
      }
      for (const { seq } of leases) {
        const done = store.settle({ seq, outcome: 'done' }).then(() => {
          settled++;
          settling.delete(done);
        });
        settling.add(done);
      }
      while (settling.size > 16_384) await Promise.race(settling);
    }
  };
  const all = Promise.all([consume(), ...Array.from({ length: producers }, (_, index) => produce(index))]);
  await pause(ms / 4);
  const before = settled;
  const start = performance.now();
  await pause(ms);
  const perSecond = ((settled - before) * 1000) / (performance.now() - start);
  stopped = true;
  await all;
  remove();
  return perSecond;
}
