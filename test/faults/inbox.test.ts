import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, open as openFile, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type * as workerThreads from 'node:worker_threads';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { StoreError } from '#lib/errors/errors';
import type { Inbox, InboxRow } from '#lib/inbox/contract';
import { openInbox, type InboxOptions } from '#lib/inbox/inbox';
import { waitFor } from '../harness/wait';

const MB = 2 ** 20;
const threads = createRequire(import.meta.url)('node:worker_threads') as typeof workerThreads;

let dataDir: string;
const file = () => join(dataDir, 'inbox.db');
const opened: Inbox[] = [];
const children: ChildProcess[] = [];

async function open(options: Partial<InboxOptions> = {}): Promise<Inbox> {
  const inbox = await openInbox({ dataDir, quotaBytes: 64 * MB, now: Date.now, lockWaitMs: 50, ...options });
  opened.push(inbox);
  return inbox;
}
const entry = (key: string, bytes = 1024) => ({
  source: 'orders',
  key,
  record: Buffer.alloc(bytes, key),
  started: true,
});

/** Runs the child until it accepted `enough` records, kills it, and returns what it said. */
async function killInFlight(prefix: string, enough: number): Promise<Record<string, Set<string>>> {
  const journal = join(dataDir, `said-${prefix}`);
  const script = join(import.meta.dirname, 'inbox-child.mjs');
  const child = spawn(process.execPath, [script, dataDir, prefix, journal], { stdio: 'inherit' });
  children.push(child);
  const lines = async () => (existsSync(journal) ? (await readFile(journal, 'utf8')).split('\n') : []);
  await waitFor(
    `${enough} accepted records`,
    async () => (await lines()).filter((line) => line.startsWith('accepted')).length >= enough,
  );
  child.kill('SIGKILL');
  await once(child, 'exit');
  const said: Record<string, Set<string>> = {
    accepted: new Set(),
    finishing: new Set(),
    finished: new Set(),
  };
  for (const line of (await lines()).slice(0, -1)) {
    const [word = '', key = ''] = line.split(' ');
    said[word]?.add(key);
  }
  return said;
}

async function allPending(inbox: Inbox): Promise<Map<string, InboxRow>> {
  const rows = new Map<string, InboxRow>();
  for (;;) {
    const page = await inbox.pending('orders', 1000);
    if (page.length === 0) return rows;
    for (const row of page) {
      rows.set(row.key, row);
      await inbox.startAttempt(row.id);
    }
  }
}

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'sluice-inbox-'));
});
afterEach(async () => {
  for (const child of children.splice(0)) if (child.exitCode === null) child.kill('SIGKILL');
  await Promise.all(opened.splice(0).map((inbox) => inbox.close()));
  await rm(dataDir, { recursive: true, force: true });
});

describe('the inbox when its process is killed', () => {
  it('N8 has every record pending that was accepted and not finished, whenever it was killed', async () => {
    const kept = new Set<string>();
    for (const [round, enough] of [40, 300, 900].entries()) {
      const prefix = String.fromCharCode(97 + round);
      const said = await killInFlight(prefix, enough);
      const inbox = await open();
      const rows = await allPending(inbox);
      for (const key of said['accepted'] ?? []) if (!said['finishing']?.has(key)) kept.add(key);
      const missing = [...kept].filter((key) => !rows.has(key));
      expect(missing).toEqual([]);
      expect([...(said['finished'] ?? [])].filter((key) => rows.has(key))).toEqual([]);
      for (const [key, { record }] of rows) expect(record[1000]).toBe(key.charCodeAt(0));
      expect(inbox.totals()).toMatchObject({ pending: rows.size, bytes: rows.size * 1024 });
      await inbox.close();
    }
  });
});

describe('a record that ends the process', () => {
  async function runFlow(what: 'accept' | 'replay'): Promise<NodeJS.Signals | null> {
    const script = join(import.meta.dirname, 'inbox-crashing-flow.mjs');
    const child = spawn(process.execPath, [script, dataDir, what], { stdio: 'inherit' });
    children.push(child);
    await once(child, 'exit');
    return child.signalCode;
  }

  it('O33 N8 is sent three times, each attempt committed before, and is then parked', async () => {
    expect(await runFlow('accept')).toBe('SIGKILL');
    expect(await runFlow('replay')).toBe('SIGKILL');
    expect(await runFlow('replay')).toBe('SIGKILL');
    expect(await runFlow('replay')).toBeNull();
    const inbox = await open();
    expect(inbox.totals()).toMatchObject({ pending: 0, parked: 1 });
    expect(await inbox.parked(10)).toMatchObject([
      { key: 'poison', attempts: 3, code: 'ERR_SLUICE_INBOX_CRASHES' },
    ]);
  });
});

describe('the inbox on a full disk', () => {
  it('N21 refuses records while the disk is nearly full, lets those it has finish, and takes them again', async () => {
    const before = await open();
    const [first, second] = [await before.accept(entry('a', 1000)), await before.accept(entry('b', 1000))];
    await before.close();
    const low = await open({ minFreeBytes: 2 ** 60 });
    const faults: (string | undefined)[] = [];
    low.onHealth((fault) => faults.push(fault && 'code' in fault ? String(fault.code) : undefined));
    await expect(low.accept(entry('c', 1000))).rejects.toMatchObject({ code: 'ERR_SLUICE_INBOX_DISK_LOW' });
    await low.finish(first);
    expect(faults).toEqual(['ERR_SLUICE_INBOX_DISK_LOW']);
    await Promise.allSettled([low.accept(entry('d', 1000)), low.finish(second)]);
    expect(low.totals()).toMatchObject({ pending: 0, bytes: 0 });
    await low.close();
    const after = await open({ minFreeBytes: 1 });
    await expect(after.accept(entry('e', 1000))).resolves.toBeGreaterThan(0);
  });

  it('refuses what it cannot store, keeps what it has, lets records finish, and goes on with room', async () => {
    const inbox = await open({ maxPages: 40 });
    const faults: (string | undefined)[] = [];
    inbox.onHealth((fault) => faults.push(fault && 'code' in fault ? String(fault.code) : undefined));
    const ids: number[] = [];
    const refusals: unknown[] = [];
    while (refusals.length === 0) {
      await inbox.accept(entry(`k${ids.length}`, 20_000)).then(
        (id) => ids.push(id),
        (error: unknown) => refusals.push(error),
      );
    }
    expect(refusals[0]).toMatchObject({ name: 'StoreError', code: 'ERR_SLUICE_INBOX_DISK_FULL' });
    expect(faults).toEqual(['ERR_SLUICE_INBOX_DISK_FULL']);
    expect(inbox.totals()).toMatchObject({ pending: ids.length, bytes: ids.length * 20_000 });

    const together = await Promise.allSettled([
      inbox.accept(entry('more', 2 * MB)),
      inbox.finish(ids[0] as number),
      inbox.finish(ids[1] as number),
    ]);
    expect(together.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
    await inbox.accept(entry('again', 20_000));
    expect(faults.at(-1)).toBeUndefined();
    expect(inbox.totals()).toMatchObject({ pending: ids.length - 1, bytes: (ids.length - 1) * 20_000 });
  });
});

describe("the inbox's worker", () => {
  it('is replaced when it dies: all who wait are refused, and nothing accepted is lost', async () => {
    const workers: workerThreads.Worker[] = [];
    const { Worker } = threads;
    class Recorded extends Worker {
      constructor(...args: ConstructorParameters<typeof Worker>) {
        super(...args);
        workers.push(this);
      }
    }
    threads.Worker = Recorded;
    try {
      const inbox = await open();
      const faults: (Error | undefined)[] = [];
      inbox.onHealth((fault) => faults.push(fault));
      const kept = await inbox.accept(entry('kept'));
      const waiting = Array.from({ length: 50 }, (_, index) => inbox.accept(entry(`w${index}`)));
      const results = Promise.allSettled(waiting);
      await workers[0]?.terminate();
      const codes = (await results).map(
        (result) => result.status === 'rejected' && (result.reason as StoreError).code,
      );
      expect(codes).toContain('ERR_SLUICE_INBOX_WORKER');
      await expect(inbox.finish(kept)).rejects.toMatchObject({ code: 'ERR_SLUICE_INBOX_WORKER' });

      await waitFor('a new worker', () => faults.length === 2 && faults[1] === undefined);
      expect(workers).toHaveLength(2);
      const { pending, bytes } = inbox.totals();
      expect(pending).toBeGreaterThanOrEqual(1);
      expect(bytes).toBe(pending * 1024);
      await inbox.accept(entry('after'));
      await inbox.finish(kept);
      expect(inbox.totals().pending).toBe(pending);
    } finally {
      threads.Worker = Worker;
    }
  });

  it('says how to repair a native module that does not load', async () => {
    const broken = join(dataDir, 'broken.node');
    await writeFile(broken, 'no library');
    const opening = open({ nativeBinding: broken });
    await expect(opening).rejects.toMatchObject({
      code: 'ERR_SLUICE_NATIVE_MODULE',
      message: expect.stringContaining('npm rebuild better-sqlite3') as string,
    });
  });
});

describe('the file of the inbox', () => {
  it('belongs to one process', async () => {
    const first = await open();
    await expect(open()).rejects.toMatchObject({ name: 'StoreError', code: 'ERR_SLUICE_INBOX_LOCKED' });
    await first.close();
    await open();
  });

  it.each([
    ['of a newer version', 'PRAGMA user_version = 99', 'ERR_SLUICE_INBOX_NEWER'],
    ['of another program', 'PRAGMA application_id = 7', 'ERR_SLUICE_INBOX_FOREIGN'],
  ])('is refused untouched: one %s', async (_, pragma, code) => {
    const inbox = await open();
    await inbox.accept(entry('a'));
    await inbox.close();
    const db = new Database(file());
    db.exec(pragma);
    db.close();
    await expect(open()).rejects.toMatchObject({ code });
    expect(await readdir(dataDir)).not.toContainEqual(expect.stringContaining('corrupt'));
  });

  it('is put aside when it is damaged, and said so', async () => {
    const inbox = await open();
    await inbox.accept(entry('a'));
    await inbox.close();
    const handle = await openFile(file(), 'r+');
    await handle.write(Buffer.alloc(4096, 0xff), 0, 4096, 0);
    await handle.close();
    const next = await open();
    expect(next.totals()).toMatchObject({
      pending: 0,
      quarantinedFile: expect.stringContaining('inbox.db.corrupt-') as string,
    });
    await next.accept(entry('b'));
  });

  it('cannot be had in a directory that is none', async () => {
    await writeFile(join(dataDir, 'plain'), '');
    await expect(open({ dataDir: join(dataDir, 'plain') })).rejects.toMatchObject({
      code: 'ERR_SLUICE_INBOX_UNWRITABLE',
    });
  });

  it('refuses calls after it was closed', async () => {
    const inbox = await open();
    await inbox.close();
    await expect(inbox.accept(entry('a'))).rejects.toMatchObject({ code: 'ERR_SLUICE_INBOX_CLOSED' });
    expect(inbox.canTake(64 * MB)).toBe(true);
  });
});
