import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSqliteStore } from '#lib/queue/sqlite-store';
import { DiskReserve } from '#lib/sqlite/disk-reserve';

const MB = 2 ** 20;

describe('the disk space a queue holds back', () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'sluice-reserve-'));
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));
  const sizeOf = async (name: string) => (await stat(join(dir, name))).size;

  it('O65 is taken, given once when it is needed, and taken again', async () => {
    const reserve = new DiskReserve(join(dir, 'r'), 2 * MB);
    expect(reserve.release()).toBe(false);
    reserve.keep();
    expect(await sizeOf('r')).toBe(2 * MB);
    expect(reserve.spent).toBe(false);
    expect(reserve.release()).toBe(true);
    expect(await sizeOf('r')).toBe(0);
    expect(reserve.spent).toBe(true);
    expect(reserve.release()).toBe(false);
    reserve.keep();
    expect(await sizeOf('r')).toBe(2 * MB);
    expect(reserve.spent).toBe(false);
  });

  it('is not taken where nothing can be written', () => {
    const nowhere = new DiskReserve(join(dir, 'missing', 'r'), MB);
    nowhere.keep();
    expect(nowhere.release()).toBe(false);
  });

  it('lies beside the file of a queue', async () => {
    const store = await openSqliteStore({ file: join(dir, 'q.db') });
    expect(await sizeOf('q.db.reserve')).toBe(20 * MB);
    await store.close();
  });
});
