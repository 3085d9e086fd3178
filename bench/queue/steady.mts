import { performance } from 'node:perf_hooks';
import type { SqliteStore } from '#lib/queue/sqlite-store';
import { makeRecords, pause } from './load.mjs';

const RECORDS = makeRecords();
const MOST_OUT = 16_384;

/** Producers, and a consumer that keeps up: records per second that were appended, leased and settled. */
export async function steadyLoad(store: SqliteStore, producers: number, ms: number): Promise<number> {
  let stopped = false;
  let settled = 0;
  const produce = async (index: number) => {
    const record = RECORDS[index % RECORDS.length] ?? Buffer.alloc(0);
    while (!stopped) await store.append(record);
  };
  let wake: () => void = () => undefined;
  const remove = store.onChange(() => wake());
  let out = 0;
  const done = () => {
    settled++;
    out--;
    if (out < MOST_OUT) wake();
  };
  const consume = async () => {
    while (!stopped || store.counts().records > 0) {
      const leases = out < MOST_OUT ? await store.lease(4096, 32 * 2 ** 20) : [];
      out += leases.length;
      for (const { seq } of leases) void store.settle({ seq, outcome: 'done' }).then(done);
      if (leases.length === 0)
        await Promise.race([new Promise<void>((resolve) => (wake = resolve)), pause(20)]);
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
