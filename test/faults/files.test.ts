import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createRequire } from 'node:module';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { APPLICATION_ID as INBOX_ID } from '#lib/inbox/schema';
import { APPLICATION_ID as QUEUE_ID } from '#lib/queue/sqlite-schema';
import { startChildNodeRed, type ChildNodeRed } from '../harness/child-node-red';
import type { FlowNode } from '../harness/node-red';
import { tab } from '../harness/probe';
import { queue } from '../harness/queue';
import { entryOf, readStatus } from '../harness/status';
import { waitFor } from '../harness/wait';
import { callHook, webhook } from '../harness/webhook';

const root = resolve(import.meta.dirname, '../..');
const require = createRequire(join(root, 'package.json'));
/** The first retries come after 1, 2, 4 and 8 seconds. */
const RECOVERY_MS = 20_000;

describe('files of a Node-RED that cannot be used', () => {
  let dir: string;
  let dataDir: string;
  let child: ChildNodeRed;
  const children: ChildNodeRed[] = [];

  const flows: readonly FlowNode[] = [
    tab(),
    webhook('done', { wires: [['q']] }),
    webhook('receipt', { respond: 'on_receipt', wires: [['q']] }),
    // Without memory of duplicates there is only the queue between it and its answer.
    webhook('forgetful', { dedupeHours: 0, wires: [['q']] }),
    queue('q', { name: 'Orders', queue: 'q' }),
  ];
  const start = async (options: Parameters<typeof startChildNodeRed>[0] = {}) => {
    child = await startChildNodeRed({ flows, settings: { sluice: { dataDir } }, ...options });
    children.push(child);
    return child;
  };
  const call = async (hook: string, id?: string) => {
    const answer = await callHook(child, hook, { hook }, id === undefined ? {} : { id });
    return answer.status === 200 ? 200 : [answer.status, answer.json()['sink']];
  };
  /** Codes of what can't be used: the queue's and those of the sources. */
  const faults = async () => {
    const { sinks, sources } = await readStatus(child);
    const ofSource = (id: string) => entryOf(sources, id)['fault'];
    return [entryOf(sinks, 'q')['fault'], ofSource('done'), ofSource('receipt'), ofSource('forgetful')];
  };
  const waitForFaults = (kind: string) =>
    waitFor(`the codes of ${kind}`, async () => {
      const [ofQueue, ofDone, ofReceipt] = await faults();
      const [queueCode, inboxCode] = kind.startsWith('ERR_')
        ? [kind, kind]
        : [`ERR_SLUICE_QUEUE_${kind}`, `ERR_SLUICE_INBOX_${kind}`];
      return ofQueue === queueCode && ofDone === inboxCode && ofReceipt === inboxCode;
    });
  const expectRefusals = async () => {
    expect(await call('done')).toEqual([503, 'inbox']);
    expect(await call('receipt')).toEqual([503, 'inbox']);
    // C4: they are counted though there is no inbox yet.
    expect(Number(entryOf((await readStatus(child)).sources, 'receipt')['backpressured'])).toBeGreaterThan(0);
    expect(await call('forgetful')).toEqual([503, 'Orders']);
  };
  /** All work again, and nobody deployed or restarted anything. */
  const expectRecovery = async () => {
    await waitFor(
      'all to work again',
      async () => (await faults()).every((code) => code === null),
      RECOVERY_MS,
    );
    for (const hook of ['done', 'receipt', 'forgetful']) expect(await call(hook)).toBe(200);
    expect(child.log()).not.toMatch(/uncaught|unhandled/i);
  };

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'sluice-files-'));
    dataDir = join(dir, 'data');
  });
  afterEach(async () => {
    for (const one of children.splice(0)) await one.remove();
    await rm(dir, { recursive: true, force: true });
  });

  it('a directory that cannot be written is shown and refused, and used once it can be', async () => {
    writeFileSync(dataDir, 'in the way');
    await start();
    await waitForFaults('UNWRITABLE');
    await expectRefusals();
    expect(child.log()).toMatch(/ERR_SLUICE_QUEUE_UNWRITABLE/);
    expect(child.log()).toMatch(/ERR_SLUICE_INBOX_UNWRITABLE/);
    rmSync(dataDir);
    await expectRecovery();
  }, 60_000);

  it('PQ-09 files of another Node-RED are left alone until that one has ended', async () => {
    const first = await start();
    await waitFor('the first to work', async () => (await call('receipt')) === 200);
    await start();
    await waitForFaults('LOCKED');
    await expectRefusals();
    const answer = await callHook(first, 'done', {});
    expect(answer.status).toBe(200);
    await first.kill();
    await expectRecovery();
    // What the first one had accepted is there.
    expect(Number(entryOf((await readStatus(child)).sinks, 'q')['records'])).toBe(5);
  }, 60_000);

  it('a disk that fails is shown and refused; what was accepted before is kept, and it goes on by itself', async () => {
    await start();
    await waitFor('the first record', async () => (await call('done', 'before')) === 200);
    const limitFiles = (bytes: string) => execFileSync('prlimit', [`--pid=${child.pid}`, `--fsize=${bytes}`]);
    limitFiles('1:unlimited');
    await waitFor('a refusal on receipt', async () => String(await call('receipt')) === '503,inbox');
    await waitFor('a refusal', async () => String(await call('forgetful')) === '503,Orders');
    const [ofQueue, , ofReceipt] = await faults();
    expect(ofQueue).toBe('ERR_SLUICE_QUEUE_IO');
    expect(ofReceipt).toBe('ERR_SLUICE_INBOX_IO');
    limitFiles('unlimited:unlimited');
    await waitFor('the inbox to be written', async () => (await call('receipt')) === 200);
    await expectRecovery();
    expect(await call('done', 'before')).toBe(200);
  }, 60_000);

  it('files of a newer version are not touched', async () => {
    mkdirSync(dataDir);
    for (const [file, owner] of [
      ['q_queue.db', QUEUE_ID],
      ['inbox.db', INBOX_ID],
    ] as const) {
      const db = new Database(join(dataDir, file));
      db.exec(`CREATE TABLE future(x); PRAGMA user_version = 99; PRAGMA application_id = ${owner}`);
      db.close();
    }
    await start();
    await waitForFaults('NEWER');
    await expectRefusals();
    for (const file of ['q_queue.db', 'inbox.db']) {
      const db = new Database(join(dataDir, file), { readonly: true });
      expect(db.prepare('SELECT name FROM sqlite_schema').pluck().all()).toEqual(['future']);
      db.close();
      rmSync(join(dataDir, file));
    }
    await expectRecovery();
  }, 60_000);

  it('damaged files are set aside and reported, and new ones take their place', async () => {
    mkdirSync(dataDir);
    for (const file of ['q_queue.db', 'inbox.db'])
      writeFileSync(join(dataDir, file), 'damaged '.repeat(5000));
    await start();
    for (const hook of ['done', 'receipt', 'forgetful']) {
      await waitFor(`${hook} to work`, async () => (await call(hook)) === 200);
    }
    for (const file of ['q_queue.db', 'inbox.db']) {
      expect(readdirSync(dataDir).some((name) => name.startsWith(`${file}.corrupt-`))).toBe(true);
    }
    expect(child.log()).toMatch(/ERR_SLUICE_QUEUE_CORRUPT/);
    expect(child.log()).toMatch(/inbox\.db\.corrupt-/);
  }, 60_000);

  it('a native module for another Node is named with what to do, and used once it is rebuilt', async () => {
    /** The package with its dependencies as npm lays them out, with a better-sqlite3 of its own. */
    const binary = (userDir: string) =>
      join(userDir, 'node_modules/better-sqlite3/build/Release/better_sqlite3.node');
    const packageDir = (name: string): string => {
      for (let at = dirname(require.resolve(name)); ; at = dirname(at)) {
        if (existsSync(join(at, 'package.json')) && at.endsWith(join('node_modules', name))) return at;
      }
    };
    await start({
      prepare: (userDir) => {
        const installed = join(userDir, 'node_modules/@sluice/node-red');
        rmSync(installed);
        mkdirSync(installed);
        for (const part of ['dist', 'package.json', 'examples']) {
          cpSync(join(root, part), join(installed, part), { recursive: true });
        }
        for (const name of ['undici', 'ulid', 'prom-client', 'cors', 'bindings', 'file-uri-to-path']) {
          symlinkSync(packageDir(name), join(userDir, 'node_modules', name));
        }
        cpSync(packageDir('better-sqlite3'), join(userDir, 'node_modules/better-sqlite3'), {
          recursive: true,
          filter: (path) => !path.includes('deps'),
        });
        writeFileSync(binary(userDir), 'built for another Node');
        return Promise.resolve();
      },
    });
    await waitForFaults('ERR_SLUICE_NATIVE_MODULE');
    await expectRefusals();
    expect(child.log()).toMatch(/npm rebuild better-sqlite3/);
    const good = join(packageDir('better-sqlite3'), 'build/Release/better_sqlite3.node');
    rmSync(binary(child.userDir));
    cpSync(good, binary(child.userDir));
    await expectRecovery();
  }, 60_000);
});
