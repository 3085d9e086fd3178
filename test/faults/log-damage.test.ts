import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openInbox } from '#lib/inbox/inbox';
import { checkQueueFile } from '#lib/queue/sqlite-offline';
import { openQueueFile } from '#lib/queue/sqlite-file';
import { readableRows } from '#lib/sqlite/damaged-rows';
import { openDatabaseFile, PAGE_BYTES, type DatabaseFile } from '#lib/sqlite/database-file';
import { logDamage } from '#lib/sqlite/log-damage';
import { randomFrom } from '../harness/random';

const COMMITS = 40;
const FRAME = PAGE_BYTES + 24;
const MB = 2 ** 20;

/** What is left of a file when its process is killed: copied while it is open, its log not written back. */
describe('O65 the log of a killed process', () => {
  let folder: string;
  let copies = 0;
  const killed = () => join(folder, 'killed');
  const options = (file: string) => ({
    file,
    applicationId: 7,
    migrations: ['CREATE TABLE record(id INTEGER PRIMARY KEY, data BLOB NOT NULL)'],
    now: Date.UTC(2026, 0, 1),
  });
  /** A copy to be damaged. */
  const crashed = () => {
    const copy = join(folder, `copy${(copies += 1)}`);
    cpSync(killed(), copy, { recursive: true });
    return join(copy, 'data.db');
  };
  const change = (file: string, edit: (bytes: Buffer) => void) => {
    const bytes = readFileSync(file);
    edit(bytes);
    writeFileSync(file, bytes);
  };
  const open = (file: string): { rows: number; set: DatabaseFile['quarantined'] } => {
    const opened = openDatabaseFile(options(file));
    const { rows } = opened.db.prepare('SELECT count(*) AS rows FROM record').get() as { rows: number };
    opened.close();
    return { rows, set: opened.quarantined };
  };
  /** Rows that can be read in what was set aside. */
  const aside = (set: DatabaseFile['quarantined']) => {
    const db = new Database(set?.file ?? '', { readonly: true });
    const rows = [...readableRows<{ data: Buffer }>(db, 'record', 'id')];
    db.close();
    return rows.filter(({ id, data }) => data.equals(Buffer.alloc(9000, id))).length;
  };

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-log-'));
    const live = join(folder, 'live');
    const { db, close } = openDatabaseFile(options(join(live, 'data.db')));
    for (let id = 1; id <= COMMITS; id += 1) {
      db.prepare('INSERT INTO record VALUES(?, ?)').run(id, Buffer.alloc(9000, id));
    }
    cpSync(live, killed(), { recursive: true });
    close();
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('is taken as it is when nothing is wrong with it, the index missing or not', () => {
    expect(open(crashed())).toEqual({ rows: COMMITS, set: undefined });
    const file = crashed();
    rmSync(`${file}-shm`);
    expect(open(file)).toEqual({ rows: COMMITS, set: undefined });
  });

  it('may be torn in its last commit, as a loss of power leaves it', () => {
    const file = crashed();
    rmSync(`${file}-shm`);
    change(`${file}-wal`, (bytes) => bytes.fill(0, bytes.length - 5000));
    const { rows, set } = open(file);
    expect(set).toBeUndefined();
    expect(rows).toBe(COMMITS - 1);
  });

  it('never loses a commit without a word, wherever a byte of it is damaged', () => {
    const { seed, random } = randomFrom(process.env['SLUICE_TEST_SEED']);
    const size = statSync(`${crashed()}-wal`).size;
    for (let round = 0; round < 25; round += 1) {
      const at = round < 8 ? round * 4 : Math.floor(random() * size);
      const file = crashed();
      change(`${file}-wal`, (bytes) => (bytes[at] = (bytes[at] ?? 0) ^ 0x55));
      const { rows, set } = open(file);
      if (rows < COMMITS) expect(set, `byte ${at}, seed ${seed}`).toBeDefined();
      if (set) expect(aside(set), `byte ${at}, seed ${seed}`).toBeGreaterThanOrEqual(COMMITS - 2);
    }
  });

  it('is known to be cut off, in the middle or all of it', () => {
    for (const left of [0.5, 0]) {
      const file = crashed();
      truncateSync(`${file}-wal`, Math.floor(statSync(`${file}-wal`).size * left));
      expect(open(file).set).toBeDefined();
    }
    const file = crashed();
    rmSync(`${file}-wal`);
    expect(logDamage(file, PAGE_BYTES)).toMatch(/missing/);
  });

  it('gives back what it holds of a database that became empty or was deleted', () => {
    const emptied = crashed();
    truncateSync(emptied, 0);
    expect(aside(open(emptied).set)).toBe(COMMITS);
    const deleted = crashed();
    rmSync(deleted);
    expect(aside(open(deleted).set)).toBe(COMMITS);
  });

  it('of another program is left alone', () => {
    const file = crashed();
    change(`${file}-wal`, (bytes) => bytes.fill(0, FRAME, 3 * FRAME));
    expect(() => openDatabaseFile({ ...options(file), applicationId: 8 })).toThrow(/application_id 7/);
  });

  it('N8 keeps the other accepted records of an inbox', async () => {
    const dataDir = join(folder, 'inbox');
    const inbox = await openInbox({ dataDir, quotaBytes: 64 * MB, now: Date.now });
    for (let index = 0; index < COMMITS; index += 1) {
      const record = Buffer.alloc(20_000, index);
      await inbox.accept({ source: 'orders', key: `key ${index}`, record, started: false });
    }
    const left = join(folder, 'inbox-left');
    cpSync(dataDir, left, { recursive: true });
    await inbox.close();
    change(join(left, 'inbox.db-wal'), (bytes) =>
      bytes.fill(0xff, bytes.length >> 1, (bytes.length >> 1) + 8),
    );
    const again = await openInbox({ dataDir: left, quotaBytes: 64 * MB, now: Date.now });
    const { pending, salvaged, quarantinedFile } = again.totals();
    await again.close();
    expect(quarantinedFile).toContain('inbox.db.corrupt-');
    expect(pending).toBe(salvaged);
    expect(pending).toBeGreaterThanOrEqual(COMMITS - 2);
  });

  it('N19 is looked at by the check of a queue', async () => {
    const live = join(folder, 'queue/data.db');
    const { file } = openQueueFile({ file: live, maxDead: 10, maxKeys: 10 }, Date.now());
    for (let next = 100; next < 110; next += 1) file.db.prepare('UPDATE meta SET next = ?').run(next);
    cpSync(join(folder, 'queue'), join(folder, 'queue-left'), { recursive: true });
    file.close();
    const left = join(folder, 'queue-left/data.db');
    expect((await checkQueueFile(left)).problems).toEqual([]);
    cpSync(join(folder, 'queue-left'), join(folder, 'queue-cut'), { recursive: true });
    const cut = join(folder, 'queue-cut/data.db');
    change(`${cut}-wal`, (bytes) => (bytes[5000] = (bytes[5000] ?? 0) ^ 1));
    expect((await checkQueueFile(cut)).problems).toContainEqual(
      expect.stringContaining('its log is damaged'),
    );
  });
});
