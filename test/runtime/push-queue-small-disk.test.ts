import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { startDestination } from '../harness/destination';
import { startNodeRed } from '../harness/node-red';
import { tab } from '../harness/probe';
import { queue } from '../harness/queue';
import { entryOf, readStatus } from '../harness/status';
import { waitFor } from '../harness/wait';

const run = promisify(execFile);

it('O65 a push-queue that has filled a small disk delivers all of it once its destination is back', async ({
  skip,
}) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'sluice-small-disk-'));
  const mounted = await run('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', dataDir]).then(
    () => true,
    () => false,
  );
  if (!mounted) {
    await rm(dataDir, { recursive: true });
    skip('only who may mount has a small disk');
  }
  const destination = await startDestination();
  destination.answer(() => ({ status: 503 }));
  const nodeRed = await startNodeRed({ settings: { sluice: { minFreeDiskMb: 0, dataDir } } });
  try {
    await nodeRed.deploy([
      tab(),
      queue('q', { maxQuotaMb: 100, retryInitialMs: 50, retryMaxMs: 200, wires: [['rest'], []] }),
      { id: 'rest', type: 'rest-sink', z: 'tab', url: destination.url, wires: [[]] },
    ]);
    const sink = async () => entryOf((await readStatus(nodeRed)).sinks, 'q');
    await waitFor('the queue to be open', async () => (await sink())['state'] === 'open');
    await waitFor('a full disk', async () => {
      nodeRed.node('q').receive({ payload: 'x'.repeat(500_000) });
      return (await sink())['fault'] === 'ERR_SLUICE_QUEUE_DISK_FULL';
    });
    const { records } = await sink();
    expect(records).toBeGreaterThan(10);
    destination.answer(() => ({}));
    await waitFor('an empty queue', async () => (await sink())['records'] === 0);
    await waitFor('the queue to take records in again', async () => (await sink())['state'] === 'open');
    const drained = await sink();
    expect(drained).toMatchObject({ fault: null, dead: 0 });
    expect(drained['forwarded_total']).toBeGreaterThanOrEqual(Number(records));
  } finally {
    await nodeRed.stop();
    await destination.close();
    await run('umount', ['-l', dataDir]);
    await rm(dataDir, { recursive: true });
  }
}, 30_000);
