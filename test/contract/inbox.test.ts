import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Inbox, InboxEntry, Settled } from '#lib/inbox/contract';
import { openInbox, type InboxOptions } from '#lib/inbox/inbox';
import { digestOf } from '#lib/inbox/settled-entry';

const HOUR_MS = 3_600_000;
const KB = 1024;

let dataDir: string;
let inbox: Inbox;
let now: number;

const open = (options: Partial<InboxOptions> = {}) =>
  openInbox({ dataDir, quotaBytes: 100 * KB, now: () => now, ...options });

async function reopen(options: Partial<InboxOptions> = {}): Promise<void> {
  await inbox.close();
  inbox = await open(options);
}

const entry = (key: string, more: Partial<InboxEntry> = {}): InboxEntry => ({
  source: 'orders',
  key,
  record: Buffer.from(`record ${key}`),
  started: true,
  ...more,
});
const keysOf = (rows: readonly { key: string }[]) => rows.map(({ key }) => key);

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'sluice-inbox-'));
  now = 1_790_000_000_000;
  inbox = await open();
});
afterEach(async () => {
  await inbox.close();
  await rm(dataDir, { recursive: true, force: true });
});

describe('the inbox', () => {
  it('N8 keeps an accepted record across a restart, with its bytes, key, time and attempts', async () => {
    const record = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    await inbox.accept(entry('a', { record }));
    await reopen();
    const [row] = await inbox.pending('orders', 10);
    expect(row).toMatchObject({ source: 'orders', key: 'a', acceptedAt: now, attempts: 1 });
    expect(Buffer.from(row?.record ?? []).equals(record)).toBe(true);
  });

  it('O33 deletes a record that was handled: it is not replayed', async () => {
    const id = await inbox.accept(entry('a'));
    await inbox.finish(id);
    await reopen();
    expect(await inbox.pending('orders', 10)).toEqual([]);
    expect(inbox.totals()).toMatchObject({ pending: 0, bytes: 0, oldestAcceptedAt: undefined });
  });

  it('N8 replays neither what is running nor what is parked, oldest first, per source', async () => {
    const running = await inbox.accept(entry('running'));
    await inbox.accept(entry('waiting', { started: false }));
    await inbox.accept(entry('other', { source: 'other', started: false }));
    await inbox.accept(entry('later', { started: false }));
    const parked = await inbox.accept(entry('parked'));
    await inbox.park(parked, {
      code: 'ERR_SLUICE_DELIVERY_TIMEOUT',
      reason: 'accepted (200) but not handled',
    });
    expect(keysOf(await inbox.pending('orders', 10))).toEqual(['waiting', 'later']);
    expect(keysOf(await inbox.pending('orders', 1))).toEqual(['waiting']);
    inbox.release(running);
    expect(keysOf(await inbox.pending('orders', 10))).toEqual(['running', 'waiting', 'later']);
    expect(await inbox.pending('unknown', 10)).toEqual([]);
  });

  it('does not give out a row whose acceptance is being answered in the same group', async () => {
    const accepted = inbox.accept(entry('a'));
    // The worker serves both as one group.
    const rows = new Promise((resolve) => setImmediate(() => resolve(inbox.pending('orders', 10))));
    await accepted;
    expect(await rows).toEqual([]);
  });

  it('N8 counts an attempt durably before the record is sent', async () => {
    const id = await inbox.accept(entry('a'));
    await reopen();
    expect(await inbox.startAttempt(id)).toBe(2);
    expect(await inbox.pending('orders', 10)).toEqual([]);
    await reopen();
    expect(await inbox.startAttempt(id)).toBe(3);
    await reopen();
    expect((await inbox.pending('orders', 10))[0]?.attempts).toBe(3);
  });

  it('starts no attempt of a row that is not there', async () => {
    expect(await inbox.startAttempt(99)).toBeUndefined();
    await inbox.finish(99);
    await inbox.park(99, { code: 'x', reason: 'x' });
    expect(inbox.totals()).toMatchObject({ pending: 0, parked: 0 });
  });

  it('keeps a parked record with its reason, until it is finished or tried again', async () => {
    const first = await inbox.accept(entry('a'));
    const second = await inbox.accept(entry('b'));
    const why = { code: 'ERR_SLUICE_DELIVERY_TIMEOUT', reason: 'accepted (200) but not handled' };
    await Promise.all([inbox.park(first, why), inbox.park(second, why)]);
    await reopen();
    expect(inbox.totals()).toMatchObject({ pending: 0, parked: 2 });
    expect((await inbox.parked(10))[0]).toMatchObject({
      id: first,
      key: 'a',
      attempts: 1,
      parkedAt: now,
      ...why,
    });
    expect(keysOf(await inbox.parked(10, first))).toEqual(['b']);
    await inbox.unpark(first);
    await inbox.finish(second);
    expect(await inbox.pending('orders', 10)).toMatchObject([{ id: first, attempts: 0 }]);
    expect(inbox.totals()).toMatchObject({ pending: 1, parked: 0, bytes: 8 });
  });

  it('counts per source and in all, synchronously, across restarts', async () => {
    await inbox.accept(entry('a', { record: Buffer.alloc(100) }));
    now += 5000;
    const second = await inbox.accept(entry('b', { record: Buffer.alloc(10) }));
    await inbox.accept(entry('c', { source: 'other', record: Buffer.alloc(1) }));
    const check = () => {
      expect(inbox.countsOf('orders')).toEqual({
        pending: 2,
        parked: 0,
        bytes: 110,
        oldestAcceptedAt: now - 5000,
      });
      expect(inbox.totals()).toMatchObject({ pending: 3, bytes: 111, quotaBytes: 100 * KB });
      expect(inbox.countsOf('unknown')).toMatchObject({ pending: 0, bytes: 0 });
    };
    check();
    await reopen();
    check();
    await inbox.finish(1);
    expect(inbox.countsOf('orders')).toMatchObject({ pending: 1, bytes: 10, oldestAcceptedAt: now });
    await inbox.park(second, { code: 'x', reason: 'x' });
    expect(inbox.countsOf('orders')).toEqual({
      pending: 0,
      parked: 1,
      bytes: 10,
      oldestAcceptedAt: undefined,
    });
  });

  it('never reuses the id of a row that is still there', async () => {
    const first = await inbox.accept(entry('a'));
    const second = await inbox.accept(entry('b'));
    await inbox.park(second, { code: 'x', reason: 'x' });
    await inbox.finish(first);
    await reopen();
    expect(await inbox.accept(entry('c'))).toBeGreaterThan(second);
  });

  it('N8 stores a burst in the order it came', async () => {
    const keys = Array.from({ length: 2000 }, (_, index) => `k${index}`);
    await Promise.all(
      keys.map((key) => inbox.accept(entry(key, { record: Buffer.from(key), started: false }))),
    );
    expect(keysOf(await inbox.pending('orders', 5000))).toEqual(keys);
  });
});

describe('the quota of the inbox', () => {
  const big = (key: string, started = true) => entry(key, { record: Buffer.alloc(10 * KB), started });

  it('refuses a burst at exactly its bytes, before anything is written', async () => {
    const results = await Promise.allSettled(
      Array.from({ length: 30 }, (_, index) => inbox.accept(big(`${index}`))),
    );
    const refused = results.flatMap((result) =>
      result.status === 'rejected' ? [result.reason as unknown] : [],
    );
    expect(refused).toHaveLength(20);
    expect(refused[0]).toMatchObject({ name: 'StoreError', code: 'ERR_SLUICE_INBOX_FULL' });
    expect(inbox.totals().bytes).toBe(100 * KB);
  });

  it('counts holds, what is stored after a restart, and parked records; gives room back when one is finished', async () => {
    const hold = inbox.hold(90 * KB);
    expect(inbox.canTake(20 * KB)).toBe(false);
    hold.release();
    const ids = await Promise.all(Array.from({ length: 10 }, (_, index) => inbox.accept(big(`${index}`))));
    await inbox.park(ids[0] as number, { code: 'x', reason: 'x' });
    await reopen();
    expect(inbox.canTake(1)).toBe(false);
    await inbox.finish(ids[1] as number);
    expect(inbox.canTake(10 * KB)).toBe(true);
    await inbox.finish(ids[0] as number);
    expect(inbox.canTake(20 * KB)).toBe(true);
    expect(inbox.canTake(20 * KB + 1)).toBe(false);
  });

  it('takes a record larger than all of it when the inbox is empty', async () => {
    await inbox.accept(entry('huge', { record: Buffer.alloc(300 * KB) }));
    expect(inbox.canTake(1)).toBe(false);
  });
});

describe('remembered verdicts', () => {
  const digest = digestOf(Buffer.from('body'));
  const settled = (key: string, more: Partial<Settled> = {}): Settled => ({
    source: 'orders',
    key,
    digest,
    verdict: 'done',
    expiresAt: now + 24 * HOUR_MS,
    ...more,
  });

  it('are known at once, by source and key, with the digest of the body', async () => {
    await inbox.recall('orders', 'loaded');
    inbox.remember(settled('a'));
    inbox.remember(settled('b', { verdict: 'rejected' }));
    expect(inbox.recall('orders', 'a')).toEqual({ digest, verdict: 'done' });
    expect(inbox.recall('orders', 'b')).toEqual({ digest, verdict: 'rejected' });
    expect(inbox.recall('other', 'a')).toBeUndefined();
    expect(inbox.recall('orders', 'c')).toBeUndefined();
    expect(digestOf(Buffer.from('other body'))).not.toBe(digest);
  });

  it('survive a restart, and no key is called unseen while they are being read', async () => {
    for (let index = 0; index < 50_000; index += 1) inbox.remember(settled(`k${index}`));
    await reopen();
    const early = inbox.recall('orders', 'k7');
    expect(early).toBeInstanceOf(Promise);
    expect(await early).toEqual({ digest, verdict: 'done' });
    expect(inbox.recall('orders', 'k49999')).toEqual({ digest, verdict: 'done' });
    expect(inbox.recall('orders', 'unseen')).toBeUndefined();
    expect(inbox.totals().remembered).toBe(50_000);
  });

  it('keep the later of two verdicts for one key', async () => {
    inbox.remember(settled('a', { verdict: 'rejected' }));
    now += HOUR_MS;
    inbox.remember(settled('a'));
    await reopen();
    expect(await inbox.recall('orders', 'a')).toMatchObject({ verdict: 'done' });
  });

  it('expire, each at its own time, and are deleted from the file', async () => {
    inbox.remember(settled('short', { expiresAt: now + HOUR_MS }));
    inbox.remember(settled('long'));
    await inbox.recall('orders', 'loaded');
    now += HOUR_MS - 1;
    expect(inbox.recall('orders', 'short')).toBeDefined();
    now += 60_001;
    expect(inbox.recall('orders', 'short')).toBeUndefined();
    expect(inbox.recall('orders', 'long')).toBeDefined();
    // Sweeping comes with the next commit.
    inbox.remember(settled('next'));
    await inbox.finish(0);
    now -= HOUR_MS + 60_000;
    await reopen();
    expect(await inbox.recall('orders', 'short')).toBeUndefined();
    expect(inbox.recall('orders', 'long')).toBeDefined();
  });

  it('are bounded: those that expire soonest go first, and are counted', async () => {
    await reopen({ maxRemembered: 1000 });
    await inbox.recall('orders', 'loaded');
    for (let index = 0; index < 1500; index += 1) {
      now += 60_000;
      inbox.remember(settled(`k${index}`));
    }
    const { remembered, forgottenEarlyTotal } = inbox.totals();
    expect(remembered).toBeLessThanOrEqual(1000);
    expect(remembered + forgottenEarlyTotal).toBe(1500);
    expect(inbox.recall('orders', 'k0')).toBeUndefined();
    expect(inbox.recall('orders', 'k1499')).toBeDefined();
    await reopen({ maxRemembered: 1000 });
    expect(await inbox.recall('orders', 'k1499')).toBeDefined();
  });

  it('O33 are stored in the transaction that accepts a record, and not known before', async () => {
    await inbox.recall('orders', 'loaded');
    const expiresAt = now + HOUR_MS;
    const accepted = inbox.accept(entry('a', { settled: { digest, verdict: 'done', expiresAt } }));
    expect(inbox.recall('orders', 'a')).toBeUndefined();
    await accepted;
    expect(inbox.recall('orders', 'a')).toEqual({ digest, verdict: 'done' });
    await reopen();
    expect(await inbox.recall('orders', 'a')).toEqual({ digest, verdict: 'done' });
  });
});
