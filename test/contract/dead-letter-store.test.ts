import Database from 'better-sqlite3';
import { mkdtemp, open as openFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PIPELINE, pushPlace, type DeadLetterStore, type NewLetter } from '#lib/dead-letter/contract';
import { keepFailure } from '#lib/dead-letter/envelope';
import { letterFileIn, openLetterStore, type LetterStoreOptions } from '#lib/dead-letter/letter-store';
import { PAGE_BYTES } from '#lib/sqlite/database-file';
import { waitFor } from '../harness/wait';

let dataDir: string;
let store: DeadLetterStore;
let lost: [string, number][];
const open = async (options: Partial<LetterStoreOptions> = {}) => {
  store = await openLetterStore({
    dataDir,
    now: () => 1_700_000_000_000,
    onTrimmed: (place, records) => lost.push([place, records]),
    lockWaitMs: 50,
    ...options,
  });
  return store;
};
const reopen = async (options: Partial<LetterStoreOptions> = {}) => {
  await store.close();
  return open(options);
};
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'sluice-letters-'));
  lost = [];
  await open();
});
afterEach(async () => {
  await store.close();
  await rm(dataDir, { recursive: true, force: true });
});

const letter = (n: number, more: Partial<NewLetter> = {}): NewLetter => ({
  place: PIPELINE,
  envelope: {
    rule_id: 'tab',
    stage: n % 2 ? 'SqlEval' : 'CodecDecode',
    stage_code: n % 2 ? 2 : 0,
    error: `failure ${n}`,
    timestamp: 1_700_000_000_000 + n,
    class: 'permanent',
  },
  target: { node: 'node' },
  record: Buffer.from(`record ${n}`),
  ...more,
});
const park = async (count: number, more: Partial<NewLetter> = {}) => {
  const parked = await Promise.all(Array.from({ length: count }, (_, n) => store.park(letter(n, more))));
  return parked.map(({ id }) => id);
};
const errors = async (place: string = PIPELINE) =>
  (await store.list({ place }, 100)).map(({ envelope }) => envelope.error);

describe('the dead-letter store', () => {
  it('gives back what was parked, newest first, by filter and by page', async () => {
    const ids = await park(4);
    expect(await errors()).toEqual(['failure 3', 'failure 2', 'failure 1', 'failure 0']);
    expect((await store.list({ stage: 'SqlEval', beforeId: ids[3]! }, 10)).map(({ id }) => id)).toEqual([
      ids[1],
    ]);
    expect(await store.list({ rule: 'other' }, 10)).toEqual([]);
    const found = await store.get(ids[2]!);
    expect(found).toMatchObject({ state: 'open', replays: 0, target: { node: 'node' } });
    expect(Buffer.from(found!.record).toString()).toBe('record 2');
    expect(await store.get(999)).toBeUndefined();
    expect(await store.openIds({ stage: 'CodecDecode' }, 0, ids[3]!, 10)).toEqual([ids[0], ids[2]]);
  });

  it('makes what an envelope shows of its record again, instead of storing it twice', async () => {
    const msg = { payload: { n: 1, note: 'ä'.repeat(5000) }, topic: 't' };
    const failure = { error: new Error('no'), class: 'permanent', rule: 'tab', msg } as const;
    const kept = keepFailure({ ...failure, node: undefined, stamp: undefined, target: {} }, 1, true);
    expect(kept.derived).toEqual({ raw: true, tuple: true });
    const { id } = await store.park({ place: PIPELINE, target: {}, ...kept });
    expect(store.counts(PIPELINE).bytes).toBeLessThan(kept.record.byteLength + 300);
    expect((await store.get(id))?.envelope).toEqual(kept.envelope);
    expect((await store.list({}, 1))[0]?.envelope).toEqual(kept.envelope);
  });

  it('O78 trims the oldest resolved letters first, however many open ones are older', async () => {
    store.setQuota(PIPELINE, { maxRows: 3, maxBytes: 1e9 });
    const ids = await park(3);
    await store.change(ids[1]!, 'open', 'resolved');
    await store.park(letter(3));
    expect(await errors()).toEqual(['failure 3', 'failure 2', 'failure 0']);
    expect(store.counts(PIPELINE)).toMatchObject({
      open: 3,
      closed: 0,
      trimmedTotal: 1,
      trimmedOpenTotal: 0,
    });
    expect(lost).toEqual([]);
  });

  it('O78 an open letter that had to go is counted as lost', async () => {
    store.setQuota(PIPELINE, { maxRows: 2, maxBytes: 1e9 });
    await park(5);
    expect(await errors()).toEqual(['failure 4', 'failure 3']);
    expect(store.counts(PIPELINE)).toMatchObject({ open: 2, trimmedOpenTotal: 3 });
    expect(lost).toEqual([[PIPELINE, 3]]);
  });

  it('O66 bounds each queue by itself', async () => {
    store.setQuota(pushPlace('a'), { maxRows: 2, maxBytes: 1e9 });
    await park(3, { place: pushPlace('a') });
    await park(3, { place: pushPlace('b') });
    expect(await errors(pushPlace('a'))).toHaveLength(2);
    expect(await errors(pushPlace('b'))).toHaveLength(3);
    expect(store.counts(PIPELINE).open).toBe(0);
  });

  it('bounds bytes, and keeps the newest whatever its size', async () => {
    store.setQuota(PIPELINE, { maxRows: 100, maxBytes: 5000 });
    await park(3, { record: Buffer.alloc(2000) });
    expect(await errors()).toEqual(['failure 2', 'failure 1']);
    await store.park(letter(9, { record: Buffer.alloc(50_000) }));
    expect(await errors()).toEqual(['failure 9']);
    expect(store.counts(PIPELINE).bytes).toBeGreaterThan(50_000);
  });

  it('stores a key once while its letter is open, and again after that', async () => {
    const first = await store.park(letter(1, { key: 'k' }));
    expect(await store.park(letter(2, { key: 'k' }))).toEqual({ id: first.id, isNew: false });
    expect(await store.claim(first.id)).toBe(true);
    expect(await store.park(letter(3, { key: 'k' }))).toEqual({ id: first.id, isNew: false });
    await store.change(first.id, 'replaying', 'resolved');
    expect(await store.park(letter(4, { key: 'k' }))).toMatchObject({ isNew: true });
    expect(store.counts(PIPELINE)).toMatchObject({ open: 1, closed: 1 });
  });

  it('DL-17 lets one of many claim a letter', async () => {
    const [id] = await park(1);
    const claims = await Promise.all(Array.from({ length: 5 }, () => store.claim(id!)));
    expect(claims.filter(Boolean)).toHaveLength(1);
    expect(await store.change(id!, 'open', 'discarded')).toBe(false);
    expect(await store.get(id!)).toMatchObject({ state: 'replaying', replays: 1 });
  });

  it('keeps letters, counts and the cause of a stop over a restart; what was being replayed is open again', async () => {
    const [id] = await park(3);
    await store.claim(id!);
    const cause = { stage: 'SqlEval', error: 'division by zero' } as const;
    await store.park(letter(7), { rule: 'tab', cause });
    await reopen();
    expect(store.counts(PIPELINE)).toMatchObject({ open: 4, closed: 0 });
    expect(await store.get(id!)).toMatchObject({ state: 'open', replays: 1 });
    expect(store.halts().get('tab')).toMatchObject({ cause });
    await store.unhalt('tab');
    await reopen();
    expect(store.halts().size).toBe(0);
  });

  it('never uses an id again, also when everything was trimmed', async () => {
    store.setQuota(PIPELINE, { maxRows: 1, maxBytes: 1e9 });
    const ids = await park(3);
    await reopen();
    expect((await store.park(letter(9))).id).toBeGreaterThan(Math.max(...ids));
  });

  it('sets a corrupt file aside, saves what can be read, and goes on', async () => {
    await park(50);
    await store.close();
    const file = letterFileIn(dataDir);
    const raw = new Database(file);
    raw.pragma('wal_checkpoint(TRUNCATE)');
    const sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'letter_rule'";
    const { rootpage } = raw.prepare<[], { rootpage: number }>(sql).get()!;
    raw.close();
    // The root of an index: rows are still there, the file isn't sound.
    const handle = await openFile(file, 'r+');
    await handle.write(Buffer.alloc(4096, 0xff), 0, 4096, PAGE_BYTES * (rootpage - 1));
    await handle.close();
    await open();
    expect(store.quarantined).toMatchObject({ file: expect.stringContaining('.corrupt-') as string });
    expect(store.quarantined!.saved).toBe(50);
    expect(await errors()).toHaveLength(store.quarantined!.saved);
    await store.park(letter(1));
  });

  it('refuses a file that another process uses, and one of a newer version', async () => {
    const second = openLetterStore({ dataDir, now: Date.now, lockWaitMs: 20 });
    await expect(second).rejects.toMatchObject({ code: 'ERR_SLUICE_DLQ_LOCKED' });
    await store.close();
    const raw = new Database(letterFileIn(dataDir));
    raw.pragma('user_version = 99');
    raw.close();
    await expect(openLetterStore({ dataDir, now: Date.now })).rejects.toMatchObject({
      code: 'ERR_SLUICE_DLQ_NEWER',
    });
    const restored = new Database(letterFileIn(dataDir));
    restored.pragma('user_version = 1');
    restored.close();
    await open();
  });

  it('says that the disk is full, keeps nothing of the call, lets letters be closed, and works again', async () => {
    const [id] = await park(1);
    await reopen({ maxPages: 40 });
    const faults: (Error | undefined)[] = [];
    store.onHealth((fault) => faults.push(fault));
    const huge = letter(5, { record: Buffer.alloc(2 ** 20) });
    await expect(store.park(huge)).rejects.toMatchObject({ code: 'ERR_SLUICE_DLQ_DISK_FULL' });
    expect(faults).toHaveLength(1);
    expect(await store.change(id!, 'open', 'resolved')).toBe(true);
    await store.park(letter(6));
    expect(faults.at(-1)).toBeUndefined();
    expect(await errors()).toEqual(['failure 6', 'failure 0']);
  });

  it('refuses what the disk doesn’t keep up with, instead of holding it in memory', async () => {
    await reopen({ maxWaitingBytes: 10_000 });
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, n) => store.park(letter(n, { record: Buffer.alloc(1000) }))),
    );
    const refused = results.filter(({ status }) => status === 'rejected');
    expect(refused.length).toBeGreaterThan(5);
    expect(refused[0]).toMatchObject({ reason: { code: 'ERR_SLUICE_DLQ_STALLED' } });
    await waitFor('the rest', async () => (await errors()).length === 20 - refused.length);
    await store.park(letter(99));
  });
});
