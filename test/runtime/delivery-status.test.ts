import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StatusDocument } from '#lib/api/status-document';
import { startNodeRed, type FlowNode, type RunningNodeRed } from '../harness/node-red';
import { probe, probeNodes, tab, type ProbeSink } from '../harness/probe';
import { queue } from '../harness/queue';
import { waitFor } from '../harness/wait';

let nodeRed: RunningNodeRed;
beforeAll(async () => {
  nodeRed = await startNodeRed({ nodesDir: [probeNodes] });
});
afterAll(() => nodeRed.stop());

const statusNode = (more: Record<string, unknown> = {}): FlowNode => ({
  id: 'status',
  type: 'delivery-status',
  z: 'tab',
  intervalSecs: 1,
  wires: [['view']],
  ...more,
});
const received = () => nodeRed.node<ProbeSink>('view').received;
const sinkIn = (index: number) => (received()[index]?.payload as StatusDocument).sinks[0];

describe('delivery-status', () => {
  it('sends the status document at once, and then when something has changed', async () => {
    await nodeRed.deploy([tab(), queue('q'), statusNode({ name: 'plant' }), probe('view')]);
    await waitFor('the first one', () => received().length > 0);
    expect(received()[0]).toMatchObject({ topic: 'plant', payload: { ready: true, sinks: [{ id: 'q' }] } });
    await waitFor('the queue to be open', () => sinkIn(received().length - 1)?.['state'] === 'open');
    const quiet = received().length;
    nodeRed.node('q').receive({ payload: 1 });
    await waitFor('the change', () => received().length > quiet);
    await waitFor('the record', () => sinkIn(received().length - 1)?.['records'] === 1);
  });

  it('sends at each interval where that is set', async () => {
    await nodeRed.deploy([tab(), queue('q2'), statusNode({ emit: 'interval' }), probe('view')]);
    await waitFor('three of them', () => received().length >= 3);
  });
});
