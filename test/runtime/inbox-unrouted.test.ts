import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startNodeRed, type RunningNodeRed } from '../harness/node-red';
import { probe, probeNodes, tab, type ProbeSink } from '../harness/probe';
import { entryOf, readStatus } from '../harness/status';
import { waitFor } from '../harness/wait';
import { callHook, webhook } from '../harness/webhook';

describe('a record on receipt that no live node takes', () => {
  let nodeRed: RunningNodeRed;
  const receiver = webhook('w', { respond: 'on_receipt', wires: [['sink']] });
  beforeAll(async () => {
    nodeRed = await startNodeRed({ nodesDir: [probeNodes] });
  });
  afterAll(() => nodeRed.stop());

  it('N8 waits in the inbox for a deploy that wires it', async () => {
    await nodeRed.deploy([tab(), receiver, { ...probe('sink'), d: true }]);
    expect((await callHook(nodeRed, 'w', { order: 1 })).status).toBe(200);
    const pending = async () => entryOf((await readStatus(nodeRed)).sources, 'w')['inbox_pending'];
    await waitFor('the record in the inbox', async () => (await pending()) === 1);
    await nodeRed.deploy([tab(), receiver, probe('sink')]);
    await waitFor('the record in the flow', () => nodeRed.node<ProbeSink>('sink').received.length === 1);
    await waitFor('an empty inbox', async () => (await pending()) === 0);
  });

  it('O76 is counted, as is one that no source serves; its sender keeps it', async () => {
    const unrouted = async () => Number((await readStatus(nodeRed)).engine.stats['unrouted']);
    const direct = webhook('d', { wires: [['sink']] });
    await nodeRed.deploy([tab(), direct, { ...probe('sink'), d: true }]);
    const before = await unrouted();
    expect((await callHook(nodeRed, 'd', { order: 2 })).status).toBe(503);
    expect(await unrouted()).toBe(before + 1);
    expect((await callHook(nodeRed, 'nobody', { order: 3 })).status).toBe(404);
    expect(await unrouted()).toBe(before + 2);
    await nodeRed.deploy([tab(), direct, probe('sink')]);
    expect((await callHook(nodeRed, 'd', { order: 2 })).status).toBe(200);
    expect(await unrouted()).toBe(before + 2);
  });
});
