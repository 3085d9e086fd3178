import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { QueueStore } from '#lib/queue/contract';
import { MemoryStore } from '#lib/queue/memory-store';
import { openSqliteStore } from '#lib/queue/sqlite-store';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-listing-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const STORES: readonly [name: string, open: () => Promise<QueueStore>][] = [
  ['memory', () => Promise.resolve(new MemoryStore())],
  ['SQLite', () => openSqliteStore({ file: join(folder, 'q_queue.db') })],
];

describe.each(STORES)('the listing of a %s store', (_name, open) => {
  it('F21 has the oldest records with their states, and gives none out by that', async () => {
    const store = await open();
    for (let record = 0; record < 4; record += 1) await store.append(new Uint8Array(10).fill(record));
    const [first] = await store.lease(1, 1000);
    const retry = { seq: first?.seq ?? 0, outcome: 'retry', spend: true, unknown: false } as const;
    await store.settle({ ...retry, dueAt: 9e15 });
    const [second] = await store.lease(1, 1000);
    await store.settle({ seq: second?.seq ?? 0, outcome: 'done' });
    const [third] = await store.lease(1, 1000);
    const listed = await store.list(10);
    expect(listed.map(({ seq, state, attempts }) => [seq, state, attempts])).toEqual([
      [first?.seq, 'parked', 1],
      [third?.seq, 'out', 0],
      [(third?.seq ?? 0) + 1, 'queued', 0],
    ]);
    expect([...(listed[2]?.record ?? [])]).toEqual(Array<number>(10).fill(3));
    expect(await store.list(1)).toHaveLength(1);
    expect(await store.lease(10, 1000)).toHaveLength(1);
    await store.close();
    await expect(store.list(1)).rejects.toMatchObject({ code: 'ERR_SLUICE_QUEUE_CLOSED' });
  });
});
