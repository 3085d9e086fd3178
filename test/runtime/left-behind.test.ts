import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { startNodeRed, type FlowNode, type RunningNodeRed } from '../harness/node-red';
import { probe, probeNodes, stuck, tab, type ProbeSink } from '../harness/probe';
import { queue } from '../harness/queue';
import { entryOf, readStatus } from '../harness/status';
import { waitFor } from '../harness/wait';
import { callHook, webhook } from '../harness/webhook';

let nodeRed: RunningNodeRed;
let log: string[] = [];
beforeAll(async () => {
  const console = { level: 'off', metrics: false, audit: false };
  const handler = () => (event: { msg: unknown }) => log.push(String(event.msg));
  const logging = { console, watch: { level: 'warn', metrics: false, audit: false, handler } };
  nodeRed = await startNodeRed({ nodesDir: [probeNodes], settings: { logging } });
});
afterAll(() => nodeRed.stop());
beforeEach(() => (log = []));

const told = () => log.filter((line) => line.includes(' stay in the '));
const deploy = (...flow: FlowNode[]) => nodeRed.deploy([tab(), ...flow]);
const received = () => nodeRed.node<ProbeSink>('end').received.map(({ payload }) => payload);

it('N8 says that accepted records stay in the inbox when their hook is renamed or removed, and runs them when it is back', async () => {
  const receipt = (hook: string, to: string) =>
    webhook('w', { hook, respond: 'on_receipt', dedupeHours: 0, wires: [[to]] });
  await deploy(receipt('orders', 'stuck'), stuck('stuck'));
  for (const n of [1, 2]) expect((await callHook(nodeRed, 'orders', { n })).status).toBe(200);
  await deploy(receipt('orders', 'stuck'), { ...stuck('stuck'), name: 'new' });
  expect(told()).toEqual([]);
  await deploy(receipt('invoices', 'end'), probe('end'));
  expect(told()).toEqual([
    expect.stringMatching(/^\[sluice\] 2 accepted records of \/api\/hooks\/orders stay/),
  ]);
  await deploy(probe('end'));
  expect(told()).toHaveLength(1);
  await deploy(receipt('orders', 'end'), probe('end'));
  await waitFor('both', () => received().length === 2);
});

it('N8 runs what was accepted on receipt when the hook answers on done now', async () => {
  const hook = (respond: string, to: string) => webhook('w', { hook: 'switched', respond, wires: [[to]] });
  await deploy(hook('on_receipt', 'stuck'), stuck('stuck'));
  expect((await callHook(nodeRed, 'switched', { n: 1 })).status).toBe(200);
  await deploy(hook('on_done', 'end'), probe('end'));
  await waitFor('the record', () => received().length === 1);
  expect((await callHook(nodeRed, 'switched', { n: 2 })).status).toBe(200);
  await waitFor('an empty inbox', async () => {
    return entryOf((await readStatus(nodeRed)).sources, 'w')['inbox_pending'] === 0;
  });
  expect(told()).toEqual([]);
});

it('O5 says that records stay in a queue that no node has any more, and delivers them when one has', async () => {
  const fill = webhook('w', { hook: 'queued', wires: [['q']] });
  await deploy(fill, queue('q', { queue: 'first' }));
  for (const n of [1, 2, 3]) {
    const isStored = async () => (await callHook(nodeRed, 'queued', { n }, { id: `q${n}` })).status === 200;
    await waitFor('an open queue', isStored);
  }
  await deploy(fill, queue('q', { queue: 'second' }));
  expect(told()).toEqual([
    '[sluice] 3 records stay in the queue "first" until a push queue has that queue name again',
  ]);
  await deploy(queue('other', { queue: 'first', wires: [['end'], []] }), probe('end'));
  await waitFor('all of them', () => received().length === 3);
  expect(told()).toHaveLength(1);
});
