import { execFile, spawn } from 'node:child_process';
import { chmod, mkdtemp, open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { BroadcastChannel } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSqliteStore, type SqliteStore, type SqliteStoreOptions } from '#lib/queue/sqlite-store';
import { waitFor } from '../harness/wait';

const workerFile = join(import.meta.dirname, 'queue-limits.wrapper.cjs');
const MB = 2 ** 20;
const run = promisify(execFile);

describe('the disk of a queue', () => {
  let dir: string;
  let file: string;
  let store: SqliteStore;
  let faults: (Error | undefined)[];
  const channel = new BroadcastChannel('queue-disk');
  const disk = (state: object) => channel.postMessage(state);

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'sluice-disk-'));
    file = join(dir, 'push_queue.db');
  });
  afterEach(async () => {
    await store.close();
    await rm(dir, { recursive: true, force: true });
  });
  const openStore = async (options: Partial<SqliteStoreOptions> = {}) => {
    store = await openSqliteStore({ file, ...options });
    faults = [];
    store.onHealth((fault) => faults.push(fault));
    return store;
  };
  const fill = (count: number, bytes = 1000) =>
    Promise.all(Array.from({ length: count }, (_, n) => store.append(Buffer.alloc(bytes, n))));
  /** Appends until the disk is what it was set to. */
  const refused = async () => {
    for (;;) {
      const [result] = await Promise.allSettled([store.append(Buffer.alloc(10))]);
      if (result.status === 'rejected') return result.reason as unknown;
    }
  };
  const healthy = () => waitFor('the probe', () => faults.length > 1 && faults.at(-1) === undefined);

  it('N21 refuses records while the disk is nearly full, still settles, and goes on by itself', async () => {
    await openStore({ workerFile, minFreeBytes: 200 * MB });
    await fill(50);
    disk({ freeBytes: 199 * MB });
    expect(await refused()).toMatchObject({ name: 'StoreError', code: 'ERR_SLUICE_QUEUE_DISK_LOW' });
    expect(faults).toMatchObject([{ code: 'ERR_SLUICE_QUEUE_DISK_LOW' }]);
    const before = store.counts().records;
    const leases = await store.lease(20, MB);
    await Promise.all(leases.map(({ seq }) => store.settle({ seq, outcome: 'done' })));
    expect(store.counts().records).toBe(before - 20);
    disk({ freeBytes: 201 * MB });
    await healthy();
    await fill(1);
  });

  it('O65 refuses with a code on an I/O error, keeps what was acknowledged, and goes on once it has passed', async () => {
    await openStore({ workerFile });
    await fill(50);
    const [lease] = await store.lease(1, MB);
    disk({ failWrites: true });
    expect(await refused()).toMatchObject({ code: 'ERR_SLUICE_QUEUE_IO' });
    const settling = store.settle({ seq: lease?.seq ?? 0, outcome: 'done' });
    await expect(settling).rejects.toMatchObject({ code: 'ERR_SLUICE_QUEUE_IO' });
    const { records } = store.counts();
    expect(records).toBeGreaterThanOrEqual(50);
    expect(faults[0]).toMatchObject({ code: 'ERR_SLUICE_QUEUE_IO' });
    disk({ failWrites: false });
    await healthy();
    await waitFor('the settlement', () => store.counts().records === records - 1);
    await fill(1);
    await store.close();
    await openStore();
    expect(store.counts().records).toBe(records);
  });

  it('O65 finds damage in a large file behind its opening, without being asked, and saves what it can', async () => {
    await openStore();
    for (let round = 0; round < 50; round++) await fill(250, 4000);
    await store.close();
    const bytes = await readFile(file);
    expect(bytes.length).toBeGreaterThan(33 * MB);
    const middle = bytes.indexOf(Buffer.alloc(3900, 50), Math.floor(bytes.length / 2));
    const handle = await open(file, 'r+');
    await handle.write(Buffer.alloc(20, 1), 0, 20, middle);
    await handle.close();
    const start = performance.now();
    await openStore();
    expect(performance.now() - start).toBeLessThan(1000);
    expect(store.counts().records).toBe(12_500);
    await waitFor('the damage', () => faults.length > 0);
    expect(faults[0]).toMatchObject({ code: 'ERR_SLUICE_QUEUE_CORRUPT' });
    const aside = (await readdir(dir)).filter((name) => /\.corrupt-.*Z$/.test(name));
    expect(aside).toHaveLength(1);
    const { records } = store.counts();
    expect(records).toBeLessThan(12_500);
    expect(records).toBeGreaterThan(12_400);
    expect(await store.lease(1e6, 2 ** 30)).toHaveLength(records);
    await fill(1);
  });

  it('O65 stays whole on a file system that is really full, and goes on when there is room', async () => {
    const mounted = await run('mount', ['-t', 'tmpfs', '-o', 'size=160m', 'tmpfs', dir]).then(
      () => true,
      () => false,
    );
    // Without the right to mount, a bound on the file has to do.
    const options = mounted ? {} : { maxPages: 600 };
    try {
      await openStore(options);
      let stored = 0;
      for (;;) {
        const results = await Promise.allSettled(
          Array.from({ length: 50 }, () => store.append(Buffer.alloc(20_000))),
        );
        stored += results.filter(({ status }) => status === 'fulfilled').length;
        const failure = results.find((result) => result.status === 'rejected');
        if (!failure) continue;
        expect(failure.reason).toMatchObject({ code: 'ERR_SLUICE_QUEUE_DISK_FULL' });
        break;
      }
      expect(stored).toBeGreaterThan(300);
      expect(store.counts().records).toBe(stored);
      await store.close();
      await openStore(options);
      expect(store.counts().records).toBe(stored);
      while (store.counts().records > 0) {
        const leases = await store.lease(100, 2 ** 24);
        await Promise.all(leases.map(({ seq }) => store.settle({ seq, outcome: 'done' })));
      }
      await waitFor('room', async () => (await stat(file)).size < MB);
      await fill(10, 20_000);
      await store.close();
    } finally {
      if (mounted) await run('umount', ['-l', dir]);
    }
  });

  it.for([5, 12, 24, 60])(
    'O65 goes on delivering from a small disk that it has filled (%s MB)',
    async (size, { skip }) => {
      const mounted = await run('mount', ['-t', 'tmpfs', '-o', `size=${size}m`, 'tmpfs', dir]).then(
        () => true,
        () => false,
      );
      if (!mounted) skip('only who may mount has a small disk');
      try {
        await openStore();
        const reserve = (await stat(`${file}.reserve`)).size;
        expect(reserve).toBeGreaterThanOrEqual(MB);
        expect(reserve).toBeLessThanOrEqual((size * MB) / 4);
        for (const bytes of [480_000, 20_000, 480_000]) {
          let stored = 0;
          for (;;) {
            const [result] = await Promise.allSettled([store.append(Buffer.alloc(bytes))]);
            if (result.status === 'rejected') {
              expect(result.reason).toMatchObject({ code: 'ERR_SLUICE_QUEUE_DISK_FULL' });
              break;
            }
            stored += 1;
          }
          expect(stored * bytes).toBeGreaterThan(MB);
          await store.close();
          await openStore();
          expect(store.counts().records).toBe(stored);
          while (store.counts().records > 0) {
            const leases = await store.lease(3, 2 ** 24);
            await Promise.all(leases.map(({ seq }) => store.settle({ seq, outcome: 'done' })));
          }
          await waitFor('room', async () => (await stat(file)).size < MB);
        }
        await fill(10, 20_000);
        await store.close();
      } finally {
        await run('umount', ['-l', dir]);
      }
    },
  );

  it('O65 refuses a directory that cannot be written, and opens it when it can', async () => {
    await openStore();
    await fill(3);
    await store.close();
    // Nothing is read-only to root but a mount, and nobody else may mount.
    const asRoot = process.getuid?.() === 0;
    if (asRoot) {
      await run('mount', ['--bind', dir, dir]);
      await run('mount', ['-o', 'remount,ro,bind', dir]);
    } else await chmod(dir, 0o555);
    try {
      await expect(openStore()).rejects.toMatchObject({ code: 'ERR_SLUICE_QUEUE_UNWRITABLE' });
    } finally {
      if (asRoot) await run('umount', ['-l', dir]);
      else await chmod(dir, 0o755);
    }
    await openStore();
    expect(store.counts().records).toBe(3);
  });

  it('O5 reads what a killed process left in the log', async () => {
    const script = join(import.meta.dirname, 'queue-process.child.mjs');
    const child = spawn(process.execPath, [script, file, 'hold'], { stdio: ['pipe', 'pipe', 'inherit'] });
    await new Promise((resolve) => child.stdout.once('data', resolve));
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('close', resolve));
    await openStore();
    await fill(100);
    // As a crash leaves it: the file and a log that wasn't written back.
    const log = await stat(`${file}-wal`);
    expect(log.size).toBeGreaterThan(100_000);
    const copy = join(dir, 'copy.db');
    await run('cp', [file, copy]);
    await run('cp', [`${file}-wal`, `${copy}-wal`]);
    await store.close();
    file = copy;
    await openStore();
    expect(store.counts()).toMatchObject({ records: 100, bytes: 100_000 });
    expect(await store.lease(1000, MB)).toHaveLength(100);
  });

  it('O15 delivers what was parked before the clock was set back, at the latest after its delay', async () => {
    let now = Date.UTC(2030, 0, 2);
    await openStore({ now: () => now });
    await fill(3);
    const leases = await store.lease(2, MB);
    for (const { seq } of leases) {
      await store.settle({ seq, outcome: 'retry', dueAt: now + 1000, spend: true, unknown: false });
    }
    now -= 86_400_000;
    await store.close();
    await openStore({ now: () => now });
    expect((await store.lease(2, MB)).map(({ seq }) => seq)).toEqual([3]);
    expect(store.nextDueAt()).toBeLessThanOrEqual(now + 1000);
    // And while it is open.
    now -= 3_600_000;
    await store.lease(0, 1);
    expect(store.nextDueAt()).toBeLessThanOrEqual(now + 1000);
    now += 1000;
    expect(await store.lease(2, MB)).toHaveLength(2);
  });
});
