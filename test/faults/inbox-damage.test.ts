import { mkdtemp, open as openFile, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Inbox } from '#lib/inbox/contract';
import { openInbox } from '#lib/inbox/inbox';
import { waitFor } from '../harness/wait';

const MB = 2 ** 20;
const PAGE = 16_384;
const RECORDS = 200;

describe('an inbox whose file is damaged', () => {
  let dataDir: string;
  let inbox: Inbox;
  const file = () => join(dataDir, 'inbox.db');
  const open = async () => {
    inbox = await openInbox({ dataDir, quotaBytes: 64 * MB, now: Date.now });
    return inbox;
  };
  const keyOf = (index: number) => `key ${index}`;
  const accept = (index: number) =>
    inbox.accept({
      source: index % 2 ? 'orders' : 'returns',
      key: keyOf(index),
      record: Buffer.alloc(60_000, index),
      started: false,
      settled: { digest: '0123456789abcdef', verdict: 'done', expiresAt: Date.now() + 3_600_000 },
    });
  const fill = async () => {
    await open();
    await Promise.all(Array.from({ length: RECORDS }, (_, index) => accept(index)));
    const [first] = await inbox.pending('orders', 1);
    await inbox.park(first?.id ?? 0, { code: 'ERR_SLUICE_DELIVERY_FAILED', reason: 'why' });
    await inbox.close();
  };
  /** Overwrites pages in the middle of the file, as a failing disk would. */
  const damage = async () => {
    const pages = Math.floor((await stat(file())).size / PAGE);
    const handle = await openFile(file(), 'r+');
    for (let page = pages >> 1; page < (pages >> 1) + 12; page += 1) {
      await handle.write(Buffer.alloc(PAGE, 0xff), 0, PAGE, page * PAGE);
    }
    await handle.close();
  };
  const allPending = async () => {
    const rows = [];
    for (const source of ['orders', 'returns']) {
      for (;;) {
        const page = await inbox.pending(source, RECORDS);
        if (page.length === 0) break;
        for (const row of page) await inbox.startAttempt(row.id);
        rows.push(...page);
      }
    }
    return rows;
  };

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'sluice-damage-'));
    await fill();
  });
  afterEach(async () => {
    await inbox.close();
    await rm(dataDir, { recursive: true, force: true });
  });

  const expectRescue = async () => {
    const { salvaged, quarantinedFile, pending, parked, bytes } = inbox.totals();
    expect(quarantinedFile).toContain('inbox.db.corrupt-');
    expect(salvaged).toBeGreaterThan(RECORDS * 0.8);
    expect(pending + parked).toBe(salvaged);
    const rows = await allPending();
    expect(rows).toHaveLength(pending);
    const whole = rows.filter(({ key, record }) => record.every((byte) => keyOf(byte) === key));
    expect(whole.length).toBeGreaterThan(RECORDS * 0.8);
    expect(rows.reduce((sum, { record }) => sum + record.byteLength, 0)).toBeLessThanOrEqual(bytes);
    expect(await inbox.recall('orders', keyOf(1))).toMatchObject({ verdict: 'done' });
    await accept(RECORDS);
  };

  it('N8 keeps every accepted record that can still be read, and says how many', async () => {
    await damage();
    await open();
    await expectRescue();
    expect((await readdir(dataDir)).filter((name) => name.includes('corrupt'))).not.toEqual([]);
  });

  it('N8 replaces a file that is found damaged while it is in use, without a restart', async () => {
    await open();
    const faults: (string | undefined)[] = [];
    inbox.onHealth((fault) => faults.push(fault && 'code' in fault ? String(fault.code) : undefined));
    await damage();
    const isReplaced = async () => {
      await Promise.all(['orders', 'returns'].map((source) => inbox.pending(source, RECORDS)));
      return inbox.totals().quarantinedFile !== undefined;
    };
    await waitFor('the file to be replaced', () => isReplaced().catch(() => false));
    await waitFor('health', () => faults.length > 0 && faults.at(-1) === undefined);
    await expectRescue();
  });
});
