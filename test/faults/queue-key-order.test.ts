import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DONE } from '#lib/delivery/verdict';
import { Drain } from '#lib/queue/drain';
import { openSqliteStore, type SqliteStore } from '#lib/queue/sqlite-store';
import { waitFor } from '../harness/wait';
import { POLICY, textOf, transient } from '../unit/drain-fixture';

describe('the order of a key over a crash', () => {
  let dir: string;
  const stores: SqliteStore[] = [];
  const drains: Drain[] = [];
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'sluice-keys-'));
  });
  afterEach(async () => {
    for (const drain of drains.splice(0)) await drain.close(1000);
    for (const store of stores.splice(0)) await store.close();
    await rm(dir, { recursive: true, force: true });
  });

  /** A drain that notes what it sends; `down` names the records that fail, for `retryMs`. */
  async function run(file: string, down: ReadonlySet<string>, retryMs: number) {
    const store = await openSqliteStore({ file });
    const sent: string[] = [];
    const drain = new Drain({
      store,
      policy: { ...POLICY, ordering: 'key', maxInFlight: 8, retryInitialMs: retryMs, retryMaxMs: retryMs },
      keyName: 'first letter',
      keyOf: (lease) => textOf(lease).slice(0, 1),
      readiness: () => 'ready',
      deliver: (lease) => {
        sent.push(textOf(lease));
        return Promise.resolve(down.has(textOf(lease)) ? transient() : DONE);
      },
    });
    stores.push(store);
    drains.push(drain);
    return { store, drain, sent };
  }

  it('N16 later records of a key wait for the one that failed, though the process ended while they were out', async () => {
    const file = join(dir, 'before.db');
    const first = await run(file, new Set(['a1']), 2000);
    for (const text of ['a1', 'a2', 'b1', 'a3']) await first.store.append(Buffer.from(text));
    first.drain.resume();
    await waitFor('all but one key', () => first.store.counts().parked === 3);
    expect(first.sent).toEqual(['a1', 'b1']);
    await first.drain.close(1000);
    // Those on lease when the process ends are due at once in the next one: before the record that failed.
    await first.store.append(Buffer.from('a4'));
    const leased: string[] = [];
    await waitFor('a lease', async () => {
      leased.push(...(await first.store.lease(10, 1000)).map(textOf));
      return leased.length > 0;
    });
    expect(leased).toEqual(['a4']);
    const left = join(dir, 'left.db');
    await copyFile(`${file}-wal`, `${left}-wal`);
    await copyFile(file, left);

    const next = await run(left, new Set(), 10);
    await next.store.append(Buffer.from('b2'));
    next.drain.resume();
    await waitFor('the other key', () => next.sent.includes('b2'));
    expect(next.sent).toEqual(['b2']);
    await waitFor('an empty queue', () => next.store.counts().records === 0);
    expect(next.sent).toEqual(['b2', 'a1', 'a2', 'a3', 'a4']);
  });
});
