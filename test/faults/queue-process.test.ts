import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LeasedRecord } from '#lib/queue/contract';
import { openSqliteStore } from '#lib/queue/sqlite-store';
import { waitFor } from '../harness/wait';

/** More for a long run: SLUICE_KILLS=100 SLUICE_RECORDS_PER_KILL=10000. */
const KILLS = Number(process.env['SLUICE_KILLS'] ?? 6);
const RECORDS_PER_KILL = Number(process.env['SLUICE_RECORDS_PER_KILL'] ?? 0);

const script = join(import.meta.dirname, 'queue-process.child.mjs');

function start(file: string, mode: 'work' | 'hold', first = 0) {
  const child: ChildProcess = spawn(process.execPath, [script, file, mode, String(first)]);
  let output = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr?.pipe(process.stderr);
  const closed = new Promise<void>((resolve) => child.on('close', () => resolve()));
  return {
    output: () => output,
    async kill() {
      child.kill('SIGKILL');
      await closed;
      const numbers = (letter: string) =>
        [...output.matchAll(new RegExp(`^${letter} (\\d+)\n`, 'gm'))].map((match) => Number(match[1]));
      return { acknowledged: numbers('A'), settling: numbers('S'), settled: numbers('D') };
    },
  };
}

describe('a queue file and processes', () => {
  let dir: string;
  let file: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'sluice-kill-'));
    file = join(dir, 'push_queue.db');
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  it(
    'O5 loses no acknowledged record and revives no settled one when the process is killed, again and again',
    async () => {
      const all = {
        acknowledged: new Set<number>(),
        settling: new Set<number>(),
        settled: new Set<number>(),
      };
      const delivered = new Set<number>();
      for (let round = 0; round < KILLS; round++) {
        const child = start(file, 'work', round * 10_000_000);
        const enough = Math.max((round + 1) * 700, RECORDS_PER_KILL * 2);
        await waitFor(`${enough} lines`, () => child.output().length > enough * 8, 60_000);
        const seen = await child.kill();
        for (const key of ['acknowledged', 'settling', 'settled'] as const) {
          for (const number of seen[key]) all[key].add(number);
        }
        const store = await openSqliteStore({ file });
        const { records, bytes } = store.counts();
        // Those that were out when it ended come a few at a time, until each has its verdict.
        const leased = new Map<number, LeasedRecord>();
        for (let known = -1; known < leased.size;) {
          known = leased.size;
          const some = await store.lease(1e6, 2 ** 30);
          for (const lease of some) leased.set(lease.seq, lease);
          const suspects = some.filter(({ crashes }) => crashes > 0);
          await Promise.all(
            suspects.map(({ seq }) =>
              store.settle({ seq, outcome: 'retry', dueAt: Date.now(), spend: true, unknown: false }),
            ),
          );
        }
        const leases = [...leased.values()];
        expect(leases).toHaveLength(records);
        expect(leases.reduce((sum, { record }) => sum + record.byteLength, 0)).toBe(bytes);
        const present = new Set(leases.map(({ record }) => Buffer.from(record).readUInt32LE()));
        expect([...all.settled].filter((n) => present.has(n))).toEqual([]);
        expect(present.size).toBe(leases.length);
        for (const number of present) delivered.add(number);
        const lost = seen.acknowledged.filter((n) => !delivered.has(n) && !all.settling.has(n));
        expect(lost).toEqual([]);
        // Half of them stay, so that the next kill finds old records too.
        const half = [...leased.keys()].filter((seq) => seq % 2 === 0 || KILLS > 6);
        for (const seq of half) void store.settle({ seq, outcome: 'done' });
        await store.close();
      }
      expect(all.acknowledged.size).toBeGreaterThan(Math.max(1000, KILLS * RECORDS_PER_KILL));
      console.log(`${KILLS} kills, ${all.acknowledged.size} records acknowledged, 0 lost`);
      expect(all.settled.size).toBeGreaterThan(100);
    },
    60_000 + KILLS * 20_000,
  );

  it('PQ-09 is refused while another process has the file, and opens once that one is killed', async () => {
    const child = start(file, 'hold');
    await waitFor('the other process', () => child.output().includes('open'));
    await expect(openSqliteStore({ file, lockWaitMs: 50 })).rejects.toMatchObject({
      name: 'StoreError',
      code: 'ERR_SLUICE_QUEUE_LOCKED',
    });
    await child.kill();
    const store = await openSqliteStore({ file });
    await store.append(Buffer.from('a'));
    await store.close();
  });

  it('is refused to a second owner in the same process, and can be opened again right after a close', async () => {
    for (let round = 0; round < 3; round++) {
      const store = await openSqliteStore({ file });
      await expect(openSqliteStore({ file, lockWaitMs: 10 })).rejects.toMatchObject({
        code: 'ERR_SLUICE_QUEUE_LOCKED',
      });
      await store.append(Buffer.from('a'));
      await store.close();
    }
    const store = await openSqliteStore({ file });
    expect(store.counts().records).toBe(3);
    await store.close();
  });
});
