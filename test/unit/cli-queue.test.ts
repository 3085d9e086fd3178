import { spawn } from 'node:child_process';
import { mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { encodeRecord } from '#lib/queue/record-format';
import { repairQueueFile } from '#lib/queue/sqlite-offline';
import { openSqliteStore } from '#lib/queue/sqlite-store';

const main = join(import.meta.dirname, '../../dist/lib/cli/main.js');

async function sluice(...args: string[]) {
  const child = spawn(process.execPath, [main, 'queue', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const status = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { status, stdout, stderr };
}

describe('sluice queue', () => {
  let dir: string;
  let file: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'sluice-cli-queue-'));
    file = join(dir, 'push_queue.db');
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  /** 300 records: the first is dead, the second parked, the third delivered. */
  async function fill() {
    const store = await openSqliteStore({ file });
    const payload = (n: number) => (n === 4 ? Buffer.from([1, 2]) : { n, text: 'x'.repeat(900) });
    const records = Array.from({ length: 300 }, (_, n) =>
      encodeRecord({ topic: `t${n}`, payload: payload(n) }),
    );
    await Promise.all(records.map((record) => store.append(record)));
    const [dead, parked, done] = (await store.lease(3, 1e6)).map(({ seq }) => seq);
    await store.settle({ seq: dead ?? 0, outcome: 'dead', reason: 'no such order', code: 'E_NO' });
    await store.settle({ seq: parked ?? 0, outcome: 'retry', dueAt: 5, spend: true, unknown: false });
    await store.settle({ seq: done ?? 0, outcome: 'done' });
    await store.close();
  }
  const damage = async (offset: number, bytes: number) => {
    const handle = await open(file, 'r+');
    await handle.write(Buffer.alloc(bytes, 0xa5), 0, bytes, offset);
    await handle.close();
  };

  it('N19 check tells what a sound file holds, and leaves it as it is', async () => {
    await fill();
    const before = await readFile(file);
    expect(await sluice('check', file)).toMatchObject({ status: 0, stderr: '' });
    const { stdout } = await sluice('check', file, '--json');
    expect(JSON.parse(stdout)).toMatchObject({ sound: true, records: 298, parked: 1, dead: 1, problems: [] });
    expect(before.equals(await readFile(file))).toBe(true);
  });

  it('N19 check finds a damaged chunk, and repair saves the others and keeps the damaged file', async () => {
    await fill();
    const bytes = await readFile(file);
    await damage(bytes.indexOf('"n":150'), 4);
    const checked = await sluice('check', file);
    expect(checked.status).toBe(1);
    expect(checked.stdout).toContain('is damaged');
    expect(checked.stdout).toContain('checksum of chunk');
    const repaired = await sluice('repair', file);
    expect(repaired).toMatchObject({ status: 0, stderr: '' });
    expect((await readdir(dir)).filter((name) => /\.corrupt-.*Z$/.test(name))).toHaveLength(1);
    expect((await sluice('check', file)).status).toBe(0);
    const store = await openSqliteStore({ file });
    expect(store.counts()).toMatchObject({ dead: 1, parked: 1 });
    await store.close();
  });

  it('N19 check compares the counters with the records, and repair sets them right', async () => {
    await fill();
    const raw = new Database(file);
    raw.exec('UPDATE meta SET records = 7, bytes = 1');
    raw.close();
    const { status, stdout } = await sluice('check', file);
    expect(status).toBe(1);
    expect(stdout).toContain('the counter of records says 7, there are 298');
    expect((await sluice('repair', file)).stdout).toContain('298 records');
    expect((await sluice('check', file)).status).toBe(0);
    expect((await sluice('repair', file)).stdout).toContain('nothing to repair');
  });

  it('N19 repair tells as JSON what it did, and with that draws nothing', async () => {
    await fill();
    await damage((await readFile(file)).indexOf('"n":150'), 4);
    const { status, stdout, stderr } = await sluice('repair', file, '--json');
    expect([status, stderr]).toEqual([0, '']);
    const told = JSON.parse(stdout) as Record<string, unknown>;
    expect(told).toMatchObject({ file, repaired: true, dead: 1, parked: 1, problems: [] });
    expect(told['detail']).toContain('records saved');
    expect(JSON.parse((await sluice('repair', file, '--json')).stdout)).toMatchObject({ repaired: false });
  });

  it('N19 repair tells how far it is, up to all that it saved', async () => {
    await fill();
    const raw = new Database(file);
    raw.exec('UPDATE meta SET bytes = 1');
    raw.close();
    const told: [number, number][] = [];
    await repairQueueFile(file, Date.now(), (saved, expected) => told.push([saved, expected]));
    expect(told.at(-1)).toEqual([299, 299]);
    expect(told.map(([saved]) => saved)).toEqual(told.map(([saved]) => saved).toSorted((a, b) => a - b));
  });

  it('N19 export prints each record once, the dead ones with their reason', async () => {
    await fill();
    const { status, stdout } = await sluice('export', file);
    expect(status).toBe(0);
    const rows = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(rows).toHaveLength(299);
    expect(rows.filter(({ state }) => state === 'queued')).toHaveLength(297);
    expect(rows.find(({ state }) => state === 'parked')).toMatchObject({
      attempts: 1,
      dueAt: 5,
      msg: { topic: 't1', payload: { n: 1 } },
    });
    expect(rows.find(({ state }) => state === 'dead')).toMatchObject({
      reason: 'no such order',
      code: 'E_NO',
      msg: { topic: 't0' },
    });
    expect(rows.filter((row) => 'tagged' in row)).toHaveLength(1);
    const out = join(dir, 'out.ndjson');
    expect((await sluice('export', file, '--out', out)).status).toBe(0);
    expect(await readFile(out, 'utf8')).toBe(stdout);
  });

  it('N19 refuses a file that a running process has open, with status 2', async () => {
    await fill();
    const store = await openSqliteStore({ file });
    for (const command of ['check', 'repair', 'export']) {
      const { status, stdout, stderr } = await sluice(command, file);
      expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
      expect(stderr).toContain('ERR_SLUICE_QUEUE_LOCKED');
    }
    await store.close();
  });

  it('N19 refuses what is no queue: another database, a newer file, nothing', async () => {
    const raw = new Database(file);
    raw.exec('CREATE TABLE theirs(a)');
    raw.close();
    for (const command of ['check', 'repair', 'export']) {
      expect(await sluice(command, file)).toMatchObject({
        status: 2,
        stderr: expect.stringContaining('ERR_SLUICE_QUEUE_FOREIGN') as string,
      });
    }
    expect((await sluice('check', join(dir, 'none.db'))).stderr).toContain('ERR_SLUICE_CLI_FILE_UNREADABLE');
    await writeFile(file, 'no database at all'.repeat(100));
    expect(await sluice('check', file)).toMatchObject({ status: 1 });
    expect((await sluice('check')).status).toBe(2);
  });
});
