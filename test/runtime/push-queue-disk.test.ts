import { expect, it } from 'vitest';
import { startNodeRed } from '../harness/node-red';
import { tab } from '../harness/probe';
import { queue } from '../harness/queue';
import { entryOf, readStatus } from '../harness/status';
import { waitFor } from '../harness/wait';

it('N21 a push-queue refuses while its disk is nearly full, and says so', async () => {
  const nodeRed = await startNodeRed({ settings: { sluice: { minFreeDiskMb: 1e9 } } });
  await nodeRed.deploy([tab(), queue('q', { queue: 'low' })]);
  const sink = async () => entryOf((await readStatus(nodeRed)).sinks, 'q');
  await waitFor('the queue to be open', async () => (await sink())['state'] === 'open');
  nodeRed.node('q').receive({ payload: 1 });
  await waitFor('the fault', async () => (await sink())['fault'] === 'ERR_SLUICE_QUEUE_DISK_LOW');
  expect(await sink()).toMatchObject({ state: 'failed', records: 0 });
  await nodeRed.stop();
});
