import { performance } from 'node:perf_hooks';
import { join } from 'node:path';
import { openSqliteStore, type SqliteStore } from '#lib/queue/sqlite-store';
import { makeRecords, median } from './load.mjs';

const RECORDS = makeRecords();
const GROUP = 256;

export interface Backlog {
  readonly records: number;
  /** p50 of a group of 256: append, lease and settle them, ms. */
  readonly appendMs: number;
  readonly leaseMs: number;
  readonly settleMs: number;
  readonly openMs: number;
}

async function appendGroup(store: SqliteStore, count: number): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, index) => store.append(RECORDS[index % 256] ?? Buffer.alloc(0))),
  );
}

/** Fills a queue, opens it again, and takes the time of groups at that depth. */
export async function atDepth(dir: string, records: number): Promise<Backlog> {
  const file = join(dir, `depth-${records}.db`);
  let store = await openSqliteStore({ file });
  for (let filled = 0; filled < records; filled += 8192) await appendGroup(store, 8192);
  await store.close();
  const start = performance.now();
  store = await openSqliteStore({ file });
  const openMs = performance.now() - start;
  const times = { append: [] as number[], lease: [] as number[], settle: [] as number[] };
  for (let round = 0; round < 200; round++) {
    const t0 = performance.now();
    await appendGroup(store, GROUP);
    const t1 = performance.now();
    const leases = await store.lease(GROUP, 2 ** 24);
    const t2 = performance.now();
    await Promise.all(leases.map(({ seq }) => store.settle({ seq, outcome: 'done' })));
    times.append.push(t1 - t0);
    times.lease.push(t2 - t1);
    times.settle.push(performance.now() - t2);
  }
  await store.close();
  return {
    records,
    appendMs: median(times.append),
    leaseMs: median(times.lease),
    settleMs: median(times.settle),
    openMs,
  };
}
