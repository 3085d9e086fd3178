import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startNodeRed, type FlowNode, type RunningNodeRed } from '../harness/node-red';
import { probeNodes, stuck, tab } from '../harness/probe';
import { megabytes, queue } from '../harness/queue';
import { entryOf, readStatus } from '../harness/status';
import { waitFor } from '../harness/wait';

describe('the bounds of a push-queue in Node-RED', () => {
  let nodeRed: RunningNodeRed;
  beforeAll(async () => {
    nodeRed = await startNodeRed({ nodesDir: [probeNodes] });
  });
  afterAll(() => nodeRed.stop());
  const sink = async (id: string) => entryOf((await readStatus(nodeRed)).sinks, id);
  const deploy = async (nodes: FlowNode[], type: 'full' | 'nodes' = 'full') => {
    await nodeRed.deploy([tab(), ...nodes], type);
    await waitFor('the queue to be open', async () => (await sink('q'))['state'] === 'open');
  };
  const fill = async (id: string, records: number) => {
    for (let index = 0; index < records; index++) nodeRed.node(id).receive({ payload: `${id}-${index}` });
    await waitFor(
      `${records} records in ${id}`,
      async () => Number((await sink(id))['delivered']) >= records,
    );
  };

  it('O8 a smaller quota refuses until it is kept to, a larger one takes more, each from the redeploy on', async () => {
    const sized = (bytes: number, more = {}, type: 'full' | 'nodes' = 'nodes') =>
      deploy([queue('q', { queue: 'sized', maxQuotaMb: megabytes(bytes), ...more })], type);
    await sized(100_000, {}, 'full');
    await fill('q', 10);
    const { bytes } = await sink('q');
    await sized(Number(bytes) - 1);
    expect(await sink('q')).toMatchObject({ records: 10, bytes });
    nodeRed.node('q').receive({ payload: 'refused' });
    await waitFor('the refusal', async () => (await sink('q'))['blocked_total'] === 1);
    await sized(Number(bytes) + 10_000);
    await fill('q', 1);
    expect(await sink('q')).toMatchObject({ records: 11, blocked_total: 0 });
    await sized(500, { onFull: 'evict_oldest' });
    await fill('q', 1);
    const after = await sink('q');
    expect(Number(after['bytes'])).toBeLessThanOrEqual(500);
    expect(Number(after['records']) + Number(after['evicted_total'])).toBe(12);
  });

  it('keeps two of the largest batch behind it in flight, unless told otherwise', async () => {
    const rest = { id: 'rest', type: 'rest-sink', z: 'tab', url: 'http://127.0.0.1:1/', maxBacklog: 4000 };
    const wired = (more = {}) =>
      deploy([
        queue('q', { queue: 'batches', maxQuotaMb: 10, wires: [['stuck', 'rest'], []], ...more }),
        stuck('stuck'),
        { ...rest, batch: 300, wires: [] },
      ]);
    await wired();
    await fill('q', 700);
    const inFlight = async () => entryOf((await readStatus(nodeRed)).sources, 'q')['in_flight'];
    await waitFor('600 in flight', async () => (await inFlight()) === 600);
    await wired({ maxInFlight: 5 });
    await waitFor('5 in flight', async () => (await inFlight()) === 5);
  });
});
