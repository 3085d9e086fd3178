import { copyFile, mkdir, mkdtemp, open, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StoreError } from '#lib/errors/errors';
import type { QueueStore } from '#lib/queue/contract';
import { openSqliteStore, type SqliteStore, type SqliteStoreOptions } from '#lib/queue/sqlite-store';
import { waitFor } from '../harness/wait';
import catalogue from '../cases/push-queue.json';

const NOW = Date.UTC(2030, 0, 1);
const PAGE_BYTES = 16_384;

describe('the file of a queue', () => {
  let dir: string;
  let file: string;
  let store: SqliteStore | undefined;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'sluice-file-'));
    file = join(dir, 'push_queue.db');
  });
  afterEach(async () => {
    await store?.close();
    store = undefined;
    await rm(dir, { recursive: true, force: true });
  });

  const openStore = async (options: Partial<SqliteStoreOptions> = {}) =>
    (store = await openSqliteStore({ file, now: () => NOW, ...options }));
  const closeStore = async () => {
    await store?.close();
    store = undefined;
  };
  const fill = (into: QueueStore, count: number, bytes: number) =>
    Promise.all(Array.from({ length: count }, (_, index) => into.append(Buffer.alloc(bytes, index))));
  const drain = async (from: QueueStore) => {
    for (;;) {
      const leases = await from.lease(500, 2 ** 24);
      if (leases.length === 0) return;
      await Promise.all(leases.map(({ seq }) => from.settle({ seq, outcome: 'done' })));
    }
  };
  const sizeOf = async (path: string) => (await stat(path).catch(() => undefined))?.size ?? 0;
  const overwrite = async (offset: number, bytes: number) => {
    const handle = await open(file, 'r+');
    await handle.write(Buffer.alloc(bytes, 0xa5), 0, bytes, offset);
    await handle.close();
  };
  const asideNames = async () =>
    (await readdir(dir)).filter((name) => /\.corrupt-[^-]+-\d+-[^.]*Z$/.test(name));
  const watch = (subject: QueueStore) => {
    const faults: (Error | undefined)[] = [];
    subject.onHealth((fault) => faults.push(fault));
    return faults;
  };
  const refusal = async (options: Partial<SqliteStoreOptions> = {}): Promise<StoreError> => {
    const error: unknown = await openStore(options).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StoreError);
    return error as StoreError;
  };

  /** One proof for each handed case; those of processes and seqs are in other files. */
  const proofs: Record<string, (() => Promise<void>) | string> = {
    'PQ-01': async () => {
      const queue = await openStore();
      await fill(queue, 1, 10);
      const reader = new Database(file, { readonly: true });
      reader.exec('BEGIN');
      reader.prepare('SELECT count(*) FROM chunk').get();
      await drain(queue);
      for (let round = 0; round < 200; round++) {
        await fill(queue, 20, 1000);
        await drain(queue);
      }
      expect(queue.counts().records).toBe(0);
      expect(await sizeOf(`${file}-wal`)).toBeGreaterThan(1_000_000);
      reader.exec('COMMIT');
      reader.close();
      await fill(queue, 1, 10);
      await waitFor('a small log', async () => (await sizeOf(`${file}-wal`)) < 1_000_000);
    },
    'PQ-03': async () => {
      const queue = await openStore();
      await fill(queue, 5000, 1000);
      expect(queue.counts().bytes).toBe(5_000_000);
      expect((await sizeOf(file)) + (await sizeOf(`${file}-wal`))).toBeGreaterThan(5_000_000);
      await drain(queue);
      expect(queue.counts()).toMatchObject({ records: 0, bytes: 0 });
      await fill(queue, 1, 1000);
      expect(queue.counts()).toMatchObject({ records: 1, bytes: 1000 });
      await waitFor('the file to shrink', async () => (await sizeOf(file)) < 1_000_000);
    },
    'PQ-05': async () => {
      const queue = await openStore({ maxPages: 40 });
      const faults = watch(queue);
      const results = await Promise.allSettled(
        Array.from({ length: 64 }, async () => {
          for (;;) await queue.append(Buffer.alloc(5000));
        }),
      );
      for (const result of results) {
        expect(result).toMatchObject({ status: 'rejected', reason: { code: 'ERR_SLUICE_QUEUE_DISK_FULL' } });
      }
      expect(faults).toMatchObject([{ code: 'ERR_SLUICE_QUEUE_DISK_FULL' }]);
      expect(queue.counts().records).toBeGreaterThan(0);
      await drain(queue);
      expect(queue.counts().records).toBe(0);
      await fill(queue, 10, 5000);
      await waitFor('the probe', () => faults.at(-1) === undefined);
    },
    'PQ-07': async () => {
      await fill(await openStore(), 300, 1000);
      await closeStore();
      const size = await sizeOf(file);
      await overwrite(PAGE_BYTES, 200);
      const queue = await openStore();
      const [fault] = watch(queue);
      expect(fault).toMatchObject({ name: 'StoreError', code: 'ERR_SLUICE_QUEUE_CORRUPT' });
      const [name] = await asideNames();
      expect(fault?.message).toContain(`${size} bytes`);
      expect(fault?.message).toContain(name);
      expect(await sizeOf(join(dir, name ?? ''))).toBe(size);
      expect(fault?.message).toContain('300 records saved');
      expect(queue.counts()).toMatchObject({ records: 300, bytes: 300_000 });
      const [{ seq } = { seq: 0 }] = await fill(queue, 1, 10);
      expect(seq).toBeGreaterThan(300);
      expect(await queue.lease(1000, 2 ** 24)).toHaveLength(301);
    },
    'PQ-09': 'queue-process.test.ts',
    'PQ-11': 'queue-store.suite.ts',
  };

  for (const { id, title } of catalogue.cases) {
    const proof = proofs[id];
    it(`${id} ${title}`, async () => {
      if (typeof proof === 'function') return proof();
      const folder = proof?.endsWith('.suite.ts') ? '../contract' : '.';
      const text = await readFile(join(import.meta.dirname, folder, proof ?? 'none'), 'utf8');
      expect(text).toContain(`'${id} `);
    });
  }

  it('O65 works again by itself once there is room, also when nobody appends', async () => {
    const queue = await openStore({ maxPages: 40 });
    const faults = watch(queue);
    await expect(fill(queue, 200, 5000)).rejects.toMatchObject({ code: 'ERR_SLUICE_QUEUE_DISK_FULL' });
    await waitFor('the probe', () => faults.length === 2 && faults[1] === undefined);
  });

  it('O65 refuses a turn that cannot fit, stores nothing of it and takes the next one', async () => {
    const queue = await openStore({ maxPages: 60 });
    const first = await Promise.allSettled([
      queue.append(Buffer.alloc(10)),
      queue.append(Buffer.alloc(2_000_000)),
    ]);
    expect(first.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await queue.append(Buffer.alloc(10));
    expect(queue.counts().records).toBe(1);
  });

  it('O64 refuses producers when the disk does not keep up, instead of growing', async () => {
    const queue = await openStore({ maxWaitingBytes: 10_000 });
    const results = await Promise.allSettled(
      Array.from({ length: 30 }, () => queue.append(Buffer.alloc(1000))),
    );
    const refused = results.filter((result) => result.status === 'rejected');
    expect(refused).toHaveLength(20);
    expect(refused[0]?.reason).toMatchObject({ code: 'ERR_SLUICE_QUEUE_STALLED' });
    await queue.append(Buffer.alloc(1000));
  });

  it('sets a file aside in which a record was damaged, at the moment it is read, and goes on', async () => {
    const queue = await openStore();
    for (let chunk = 0; chunk < 3; chunk++) await fill(queue, 100, 1000);
    await closeStore();
    const bytes = await readFile(file);
    const inFirst = bytes.indexOf(Buffer.alloc(900, 50));
    const middle = bytes.indexOf(Buffer.alloc(900, 50), inFirst + 50_000);
    await overwrite(middle, 20);
    const again = await openStore();
    const faults = watch(again);
    expect(again.counts().records).toBe(300);
    await expect(again.lease(1000, 2 ** 24)).rejects.toMatchObject({ code: 'ERR_SLUICE_QUEUE_CORRUPT' });
    expect(faults[0]).toMatchObject({ code: 'ERR_SLUICE_QUEUE_CORRUPT' });
    expect(await asideNames()).toHaveLength(1);
    expect(again.counts()).toMatchObject({ records: 200, bytes: 200_000 });
    await fill(again, 5, 10);
    expect(await again.lease(1000, 2 ** 24)).toHaveLength(205);
    await waitFor('the probe', () => faults.at(-1) === undefined);
  });

  it.each([
    ['text instead of a database', () => writeFile(file, 'this is no database at all'.repeat(100))],
    ['a file cut off', async () => writeFile(file, (await readFile(file)).subarray(0, 3 * PAGE_BYTES))],
    ['a damaged header', () => overwrite(0, 100)],
  ])('sets aside %s', async (_, damage) => {
    await fill(await openStore(), 300, 1000);
    await closeStore();
    await damage();
    const queue = await openStore();
    expect(watch(queue)[0]).toMatchObject({ code: 'ERR_SLUICE_QUEUE_CORRUPT' });
    expect(await asideNames()).toHaveLength(1);
    const saved = queue.counts().records;
    await fill(queue, 3, 10);
    await closeStore();
    expect(watch(await openStore())).toEqual([]);
    expect(store?.counts().records).toBe(saved + 3);
  });

  it.each([
    ['user_version', 'PRAGMA user_version = 99'],
    ['record format', 'UPDATE meta SET format = 99'],
  ])('leaves a file of a newer %s alone', async (_, change) => {
    await fill(await openStore(), 3, 10);
    await closeStore();
    const raw = new Database(file);
    raw.exec(change);
    raw.close();
    const before = await readFile(file);
    expect(await refusal()).toMatchObject({ code: 'ERR_SLUICE_QUEUE_NEWER' });
    expect(before.equals(await readFile(file))).toBe(true);
  });

  it('leaves a database of another program alone', async () => {
    const raw = new Database(file);
    raw.exec('CREATE TABLE theirs(a)');
    raw.close();
    expect(await refusal()).toMatchObject({ code: 'ERR_SLUICE_QUEUE_FOREIGN' });
    expect(await asideNames()).toEqual([]);
  });

  it('O65 says that a directory cannot be written', async () => {
    await writeFile(join(dir, 'plain'), '');
    expect(await refusal({ file: join(dir, 'plain', 'q.db') })).toMatchObject({
      code: 'ERR_SLUICE_QUEUE_UNWRITABLE',
    });
    await mkdir(join(dir, 'folder'));
    const code = 'ERR_SLUICE_QUEUE_UNWRITABLE';
    expect(await refusal({ file: join(dir, 'folder') })).toMatchObject({ code });
  });

  it('makes the directory if it is missing', async () => {
    await fill(await openStore({ file: join(dir, 'new', 'deep', 'q.db') }), 1, 10);
  });

  it('names the command when better-sqlite3 was built for another Node.js', async () => {
    const wrong = join(dir, 'better_sqlite3.node');
    await copyFile(import.meta.filename, wrong);
    const error = await refusal({ nativeBinding: wrong });
    expect(error.code).toBe('ERR_SLUICE_NATIVE_MODULE');
    expect(error.message).toContain('npm rebuild better-sqlite3');
    expect((await refusal({ nativeBinding: join(dir, 'none.node') })).code).toBe('ERR_SLUICE_NATIVE_MODULE');
  });

  it('O66 keeps the newest dead records, with their reason, and counts those trimmed', async () => {
    const queue = await openStore({ maxDead: 4 });
    await fill(queue, 7, 10);
    for (const { seq } of await queue.lease(10, 1000)) {
      await queue.settle({ seq, outcome: 'dead', reason: `no ${seq}`, code: 'E_NO' });
    }
    expect(queue.counts()).toMatchObject({ dead: 4, deadTrimmedTotal: 3 });
    await closeStore();
    const raw = new Database(file, { readonly: true });
    const rows = raw.prepare('SELECT seq, reason, code, at, attempts, length(data) AS bytes FROM dead').all();
    raw.close();
    expect(rows).toHaveLength(4);
    expect(rows[0]).toEqual({ seq: 4, reason: 'no 4', code: 'E_NO', at: NOW, attempts: 1, bytes: 10 });
  });

  it('remembers a bounded number of keys', async () => {
    const queue = await openStore({ maxKeys: 100 });
    const append = (n: number) => queue.append(Buffer.from('x'), { key: `k${n}` });
    for (let group = 0; group < 40; group++) {
      await Promise.all(Array.from({ length: 10 }, (_, n) => append(group * 10 + n)));
    }
    expect((await append(300)).duplicate).toBe(true);
    expect((await append(0)).duplicate).toBe(false);
    await closeStore();
    const raw = new Database(file, { readonly: true });
    const { rows } = raw.prepare('SELECT count(*) AS rows FROM keys').get() as { rows: number };
    raw.close();
    expect(rows).toBeLessThan(13);
  });

  it('O1 knows no key whose append found the disk full', async () => {
    const queue = await openStore({ maxPages: 60 });
    await queue.append(Buffer.alloc(10), { key: 'kept' });
    const large = Buffer.alloc(2_000_000);
    const turn = [queue.append(Buffer.alloc(10), { key: 'k' }), queue.append(large, { key: 'large' })];
    const refused = await Promise.allSettled(turn);
    expect(refused.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    const again = ['k', 'kept'].map((key) => queue.append(Buffer.alloc(10), { key }));
    expect((await Promise.all(again)).map(({ duplicate }) => duplicate)).toEqual([false, true]);
    expect(queue.counts().records).toBe(2);
  });

  it('O1 knows no key of a damaged file: its record may be among those that were lost', async () => {
    const queue = await openStore();
    const append = (into: QueueStore) =>
      Promise.all(
        Array.from({ length: 300 }, (_, n) => into.append(Buffer.alloc(1000, n), { key: `k${n}` })),
      );
    await append(queue);
    await closeStore();
    await overwrite(0, 100);
    const again = await openStore();
    expect((await append(again)).filter(({ duplicate }) => duplicate)).toEqual([]);
  });

  it('opens a file from before keys had a time', async () => {
    await (await openStore()).append(Buffer.alloc(10), { key: 'k' });
    await closeStore();
    const raw = new Database(file);
    raw.exec(
      'ALTER TABLE keys DROP COLUMN at; DROP TABLE lost; DROP TABLE leased; DROP TABLE suspect; PRAGMA user_version = 1',
    );
    raw.close();
    const queue = await openStore();
    const append = (keySince: number) => queue.append(Buffer.alloc(10), { key: 'k', keySince });
    expect((await append(0)).duplicate).toBe(true);
    expect((await append(NOW - 1)).duplicate).toBe(false);
    expect((await append(NOW - 1)).duplicate).toBe(true);
  });

  it('O1 forgets lost keys with the others, and still bounds them', async () => {
    const queue = await openStore({ maxKeys: 100 });
    for (let n = 0; n < 400; n++) {
      await queue.append(Buffer.alloc(10), { key: `k${n}`, evictDownTo: 30 });
    }
    expect((await queue.append(Buffer.alloc(10), { key: 'k399' })).duplicate).toBe(true);
    expect((await queue.append(Buffer.alloc(10), { key: 'k396' })).duplicate).toBe(false);
    await closeStore();
    const raw = new Database(file, { readonly: true });
    const count = (table: string) =>
      (raw.prepare(`SELECT count(*) AS rows FROM ${table}`).get() as { rows: number }).rows;
    expect([count('keys'), count('lost')].every((rows) => rows > 90 && rows < 110)).toBe(true);
    raw.close();
  });

  it('moves records that stay on lease out of old chunks, so that they do not hold the file', async () => {
    const queue = await openStore();
    const held: number[] = [];
    for (let round = 0; round < 220; round++) {
      await fill(queue, 250, 1000);
      const leases = await queue.lease(250, 2 ** 24);
      held.push(leases[0]?.seq ?? 0);
      await Promise.all(leases.slice(1).map(({ seq }) => queue.settle({ seq, outcome: 'done' })));
    }
    expect(queue.counts()).toMatchObject({ records: 220, bytes: 220_000, parked: 0 });
    expect(await queue.lease(10, 1000)).toEqual([]);
    for (const seq of held.slice(0, 100)) await queue.settle({ seq, outcome: 'done' });
    await waitFor('the file to shrink', async () => (await sizeOf(file)) < 45_000_000);
    await closeStore();
    const again = await openStore();
    expect((await again.lease(1000, 2 ** 24)).map(({ seq }) => seq)).toEqual(held.slice(100));
  });
});
