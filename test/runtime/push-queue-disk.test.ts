import { describe, expect, it } from 'vitest';
import { startNodeRed } from '../harness/node-red';
import { tab } from '../harness/probe';
import { queue } from '../harness/queue';
import { entryOf, readStatus } from '../harness/status';
import { waitFor } from '../harness/wait';

describe('push-queue on a disk that is nearly full', () => {
  it('N21 refuses while its disk is nearly full, and says so', async () => {
    const nodeRed = await startNodeRed({ settings: { sluice: { minFreeDiskMb: 1e9 } } });
    await nodeRed.deploy([tab(), queue('q', { queue: 'low' })]);
    const state = async () => entryOf((await readStatus(nodeRed)).sinks, 'q');
    await waitFor('the queue to be open', async () => (await state())['state'] === 'open');
    nodeRed.node('q').receive({ payload: 1 });
    await waitFor('the fault', async () => (await state())['fault'] === 'ERR_SLUICE_QUEUE_DISK_LOW');
    expect(await state()).toMatchObject({ state: 'failed', records: 0 });
    await nodeRed.stop();
  });
});
