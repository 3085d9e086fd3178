import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { runtimeOf } from '#lib/node-red/runtime';
import { startDestination, type Destination } from '../harness/destination';
import { startNodeRed, type FlowNode, type RunningNodeRed } from '../harness/node-red';
import { functionNode, probe, probeNodes, tab, type ProbeSink } from '../harness/probe';
import { queue } from '../harness/queue';
import { entryOf, readStatus } from '../harness/status';
import { waitFor } from '../harness/wait';
import { callHook, webhook } from '../harness/webhook';

describe('O1 custody', () => {
  let nodeRed: RunningNodeRed;
  let orders: Destination;
  let notices: Destination;

  const sink = (id: string, url: string, more: object = {}): FlowNode => ({
    ...{ id, type: 'rest-sink', z: 'tab', url, wires: [[]] },
    ...more,
  });
  const caughtBy = (...ids: string[]): FlowNode => ({
    ...{ id: 'c', type: 'catch', z: 'tab', scope: ['orders'], uncaught: false, wires: [ids] },
  });
  const deploy = async (...nodes: FlowNode[]) => {
    await nodeRed.deploy([
      tab(),
      webhook('w', { wires: [['orders']] }),
      sink('orders', orders.url),
      ...nodes,
    ]);
    await waitFor('the queue to be open', async () =>
      (await readStatus(nodeRed)).sinks.every(({ state }) => state !== 'opening'),
    );
  };
  const queued = async () => entryOf((await readStatus(nodeRed)).sinks, 'kept')['records'];

  beforeAll(async () => {
    nodeRed = await startNodeRed({ nodesDir: [probeNodes] });
    [orders, notices] = await Promise.all([startDestination(), startDestination()]);
  });
  beforeEach(() => {
    notices.answer(() => ({ status: 200 }));
  });
  afterAll(async () => {
    await nodeRed.stop();
    await Promise.all([orders.close(), notices.close()]);
  });

  it.each([
    ['for good', 422],
    ['for now', 503],
  ])('a record that fails %s is done when a push queue behind the catch node has it', async (_, status) => {
    orders.answer(() => ({ status }));
    await deploy(caughtBy('kept'), queue('kept', { queue: `kept-${status}` }));
    const answer = await callHook(nodeRed, 'w', { order: status });
    expect([answer.status, answer.json()]).toEqual([200, expect.objectContaining({ result: 'done' })]);
    expect(await queued()).toBe(1);
  });

  it('a record that fails stays failed when the catch branch only sends a notice by a rest-sink', async () => {
    await deploy(caughtBy('notice'), sink('notice', notices.url));
    orders.answer(() => ({ status: 422 }));
    expect((await callHook(nodeRed, 'w', { order: 1 })).status).toBe(422);
    orders.answer(() => ({ status: 503, headers: { 'retry-after': '17' } }));
    const answer = await callHook(nodeRed, 'w', { order: 2 });
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '17']);
    expect(notices.requests.length).toBeGreaterThanOrEqual(2);
  });

  it('a record that fails stays failed when the queue of the catch branch refuses it', async () => {
    orders.answer(() => ({ status: 422 }));
    const grow = functionNode('grow', 'msg.payload = "x".repeat(2000); return msg', [['kept']]);
    await deploy(caughtBy('grow'), grow, queue('kept', { queue: 'small', maxQuotaMb: 0.002 }));
    // A record larger than the quota is taken by an empty queue; the next one finds it full.
    expect((await callHook(nodeRed, 'w', { order: 1 })).status).toBe(200);
    expect((await callHook(nodeRed, 'w', { order: 2 })).status).toBe(503);
    expect(await queued()).toBe(1);
  });

  it('a record stays in a queue whose output comes to nothing alive, and is delivered once that lives', async () => {
    const flow = (d: boolean): FlowNode[] => [
      tab(),
      webhook('w', { wires: [['q']] }),
      queue('q', { queue: 'nowhere', wires: [['f'], []], retryInitialMs: 5, retryMaxMs: 20 }),
      functionNode('f', 'return msg', [['off']]),
      { ...probe('off'), d },
    ];
    const aborted = async () => {
      const text = await runtimeOf(nodeRed.RED).metrics.render();
      return Number(/_attempts_total\{sink="push",outcome="aborted"\} (\d+)/.exec(text)?.[1] ?? 0);
    };
    await nodeRed.deploy(flow(true));
    const before = await aborted();
    await waitFor('the record to be stored', async () => (await callHook(nodeRed, 'w', {})).status === 200);
    await waitFor('tries', async () => (await aborted()) > before + 1);
    expect((await readStatus(nodeRed)).push_queue['records']).toBe(1);
    await nodeRed.deploy(flow(false), 'nodes');
    await waitFor('an empty queue', async () => (await readStatus(nodeRed)).push_queue['records'] === 0);
    expect(nodeRed.node<ProbeSink>('off').received).toHaveLength(1);
  });
});
