import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { appendLoad, median, medianOf, type Appender, type LoadResult } from './queue/load.mjs';
import { appendLog, commitEach, ourStore } from './queue/local.mjs';
import { steadyLoad } from './queue/steady.mjs';

const ROUNDS = Number(process.env.ROUNDS ?? 5);
const MS = Number(process.env.MS ?? 1500);

async function inDir<T>(work: (dir: string) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(process.env.BENCH_DIR ?? tmpdir(), 'sluice-bench-'));
  try {
    return await work(dir);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function measure(open: (dir: string) => Promise<Appender>, producers: number): Promise<LoadResult> {
  return inDir(async (dir) => {
    const target = await open(dir);
    const result = await appendLoad(target, producers, MS);
    await target.close();
    return result;
  });
}

const rows: Record<string, LoadResult[]> = {};
const steady: Record<string, number[]> = {};
for (let round = 0; round < ROUNDS; round++) {
  for (const producers of [256, 4096]) {
    (rows[`log ${producers}`] ??= []).push(await measure(appendLog, producers));
    (rows[`ours ${producers}`] ??= []).push(await measure(ourStore, producers));
    (steady[`steady ${producers}`] ??= []).push(
      await inDir(async (dir) => {
        const { store } = await ourStore(dir);
        const rate = await steadyLoad(store, producers, MS);
        await store.close();
        return rate;
      }),
    );
  }
  (rows['each 256'] ??= []).push(await measure(commitEach, 256));
}
for (const [name, results] of Object.entries(rows)) console.log(name, medianOf(results));
for (const [name, results] of Object.entries(steady)) console.log(name, median(results));
