import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { DeployType, FlowNode } from '../harness/node-red';
import { waitFor } from '../harness/wait';
import { batchCount, change, delay, func, joinCount, linkCall, switchOn } from './lineage-flows';
import { startLineageRig, tab, type LineageRig, type TabNode } from './lineage-rig';

let rig: LineageRig;

beforeAll(async () => {
  rig = await startLineageRig();
});
afterAll(() => rig.stop());
afterEach(() => {
  rig.arrived.length = rig.finished.length = rig.late.length = 0;
  expect(rig.faults).toEqual([]);
  expect(rig.lineage.census().parked).toBe(0);
});

const ABORTED = { kind: 'aborted', reason: 'ERR_SLUICE_DELIVERY_ABORTED' };
const DONE = { kind: 'done' };
const TYPES: DeployType[] = ['full', 'flows', 'nodes'];

/** The flow, and the same with one property of one node changed. */
function withChange(nodes: readonly TabNode[], id: string, more: readonly FlowNode[] = []) {
  const before = [...more, ...tab('z', nodes)];
  const after = before.map((node) => (node.id === id ? { ...node, name: 'changed' } : node));
  return { before, after };
}

const longSubflow: FlowNode[] = [
  {
    id: 'long',
    type: 'subflow',
    name: 'long',
    info: '',
    in: [{ x: 0, y: 0, wires: [{ id: 'long.delay' }] }],
    out: [{ x: 0, y: 0, wires: [{ id: 'long.delay', port: 0 }] }],
    env: [],
  },
  { id: 'long.delay', type: 'delay', z: 'long', x: 0, y: 0, wires: [[]], ...delay(5000) },
];

/** Where a record can sit when a deploy replaces that node, and how it gets there. */
const HOLDERS: [name: string, holder: string, nodes: TabNode[], more?: FlowNode[]][] = [
  ['a delay', 'z.a', [['a', 'delay', 'sink', delay(5000)]]],
  ['a join', 'z.a', [['a', 'join', 'sink', joinCount(2)]]],
  ['a batch', 'z.a', [['a', 'batch', 'sink', batchCount(2)]]],
  [
    'a link call',
    'z.a',
    [
      ['a', 'link call', 'sink', linkCall('z.in', 20)],
      ['in', 'link in', 'far', { links: [] }],
      ['far', 'delay', '', delay(5000)],
    ],
  ],
  ['a function that waits', 'z.a', [['a', 'function', 'sink', func('await new Promise(() => {})')]]],
  ['a subflow', 'z.a', [['a', 'subflow:long', 'sink', { env: [] }]], longSubflow],
  ['a packaged subflow', 'z.a', [['a', 'packaged-long', 'sink']]],
];

describe.each(TYPES)('N13 a %s deploy', (type) => {
  it.each(HOLDERS)('aborts a record in %s that it replaces', async (_, holder, nodes, more) => {
    const flow = withChange([['src', 't-source', 'a'], ...nodes, ['sink', 't-sink', '']], holder, more);
    await rig.nodeRed.deploy(flow.before);
    const verdict = rig.fire('z.src');
    const reached = rig.nodeRed.node(holder);
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    expect(rig.lineage.active).toBe(1);
    await rig.nodeRed.deploy(flow.after, type);
    expect(rig.nodeRed.node(holder)).not.toBe(reached);
    expect(await verdict).toEqual(ABORTED);
    expect(rig.finished).toEqual([]);
  });

  it('aborts a record that was sent just before', async () => {
    const flow = withChange(
      [
        ['src', 't-source', 'a'],
        ['a', 'change', 'w', change],
        ['w', 'switch', 'd', switchOn({ t: 'else' })],
        ['d', 'delay', 'sink', delay(5000)],
        ['sink', 't-sink', ''],
      ],
      'z.d',
    );
    await rig.nodeRed.deploy(flow.before);
    const verdicts = Array.from({ length: 20 }, () => rig.fire('z.src'));
    await rig.nodeRed.deploy(flow.after, type);
    expect(new Set((await Promise.all(verdicts)).map(({ kind }) => kind))).toEqual(new Set(['aborted']));
  });

  it('aborts what an old source sends while flows are stopped', async () => {
    const flow = withChange(
      [
        ['src', 't-source', 'sink'],
        ['sink', 't-sink', ''],
      ],
      'z.sink',
    );
    await rig.nodeRed.deploy(flow.before);
    const sent = new Promise<unknown>((resolve) => {
      const source = rig.nodeRed.node('z.src');
      const stamp = { id: 'x', source: 's', receivedAt: 1, attempt: 1 };
      rig.nodeRed.RED.events.once('flows:stopped', () => {
        resolve(rig.lineage.send(source, { payload: 1 }, { stamp, origin: 'x', timeoutMs: 1000 }));
      });
    });
    await rig.nodeRed.deploy(flow.after, type);
    expect(await sent).toEqual(ABORTED);
  });
});

describe('N13 a deploy', () => {
  const holdingSink: TabNode = ['sink', 't-sink', '', { hold: true }];
  const nodes: TabNode[] = [
    ['src', 't-source', 'a'],
    ['a', 'change', 'sink', change],
    holdingSink,
    ['bystander', 'change', '', change],
  ];
  const arrived = () => waitFor('the arrival', () => rig.arrived.length === 1);

  it.each(['done', 'error', 'send'] as const)(
    'of a node that says %s only after it leaves the verdict as it was, and nothing behind',
    async (word) => {
      const flow = withChange(nodes, 'z.sink');
      await rig.nodeRed.deploy(flow.before);
      const verdict = rig.fire('z.src');
      await arrived();
      const { finish, msg } = rig.arrived[0] ?? { finish: () => undefined, msg: {} };
      const old = rig.nodeRed.node('z.sink');
      await rig.nodeRed.deploy(flow.after, 'nodes');
      expect(await verdict).toEqual(ABORTED);
      if (word === 'error') old.error(new Error('too late'), msg);
      if (word === 'send') old.send(msg);
      finish();
      expect(rig.lineage.active).toBe(0);
      expect(rig.faults).toEqual([]);
      // The node in its place is another one, and works.
      const next = rig.fire('z.src');
      await waitFor('the next arrival', () => rig.arrived.length === 2);
      rig.arrived[1]?.finish();
      expect(await next).toEqual(DONE);
    },
  );

  it('of an unrelated node leaves a record to be done', async () => {
    const flow = withChange(nodes, 'z.bystander');
    await rig.nodeRed.deploy(flow.before);
    const verdict = rig.fire('z.src');
    await arrived();
    await rig.nodeRed.deploy(flow.after, 'nodes');
    expect(rig.lineage.active).toBe(1);
    rig.arrived[0]?.finish();
    expect(await verdict).toEqual(DONE);
  });

  it('of another tab leaves a record to be done', async () => {
    const other = tab('y', [['c', 'change', '', change]]);
    await rig.nodeRed.deploy([...tab('z', nodes), ...other]);
    const verdict = rig.fire('z.src');
    await arrived();
    const changed = other.map((node) => (node.type === 'change' ? { ...node, name: 'changed' } : node));
    await rig.nodeRed.deploy([...tab('z', nodes), ...changed], 'flows');
    expect(rig.lineage.active).toBe(1);
    rig.arrived[0]?.finish();
    expect(await verdict).toEqual(DONE);
  });

  it('of the subflow that holds a record aborts it', async () => {
    const flows = tab('z', [
      ['src', 't-source', 'a'],
      ['a', 'subflow:long', 'sink', { env: [] }],
      ['sink', 't-sink', ''],
    ]);
    await rig.nodeRed.deploy([...longSubflow, ...flows]);
    const verdict = rig.fire('z.src');
    const changed = longSubflow.map((node) =>
      node.id === 'long.delay' ? { ...node, name: 'changed' } : node,
    );
    await rig.nodeRed.deploy([...changed, ...flows], 'nodes');
    expect(await verdict).toEqual(ABORTED);
  });

  it('that disables the sink aborts a record on its way to it', async () => {
    const waiting: TabNode = ['a', 'delay', 'sink', delay(400)];
    const flows = tab('z', [['src', 't-source', 'a'], waiting, ['sink', 't-sink', '']]);
    await rig.nodeRed.deploy(flows);
    const verdict = rig.fire('z.src');
    const without = flows.map((node) => (node.id === 'z.sink' ? { ...node, d: true } : node));
    await rig.nodeRed.deploy(without, 'nodes');
    expect(await verdict).toMatchObject({ kind: 'aborted' });
    expect(rig.finished).toEqual([]);
  });

  it('of a node aborts all parts of several records behind a link call', async () => {
    const flow = withChange(
      [
        ['src', 't-source', 'l'],
        ['l', 'function', 'call', func('return [[msg, {payload: 2}, {payload: 3}]]')],
        ['call', 'link call', 'sink', linkCall('z.in', 20)],
        ['in', 'link in', 'far', { links: [] }],
        ['far', 'delay', 'out', delay(5000)],
        ['out', 'link out', '', { mode: 'return', links: [] }],
        ['sink', 't-sink', ''],
      ],
      'z.far',
    );
    await rig.nodeRed.deploy(flow.before);
    const verdicts = [rig.fire('z.src'), rig.fire('z.src')];
    await rig.nodeRed.deploy(flow.after, 'nodes');
    expect(await Promise.all(verdicts)).toEqual([ABORTED, ABORTED]);
    expect(rig.lineage.census()).toMatchObject({ attempts: 0, parked: 0, pacedNodes: 0 });
  });

  it('that removes everything aborts what is under way', async () => {
    await rig.nodeRed.deploy(tab('z', [['src', 't-source', 'sink'], holdingSink]));
    const verdict = rig.fire('z.src');
    await arrived();
    await rig.nodeRed.deploy([]);
    expect(await verdict).toEqual(ABORTED);
    rig.arrived[0]?.finish();
    expect(rig.late).toEqual([]);
  });

  it('with a sink that finishes while flows stop is done if the sink survives', async () => {
    const flow = withChange(
      [
        ['src', 't-source', 'sink'],
        ['sink', 't-sink', '', { hold: true }],
        ['bystander', 'change', '', change],
      ],
      'z.bystander',
    );
    await rig.nodeRed.deploy(flow.before);
    const verdict = rig.fire('z.src');
    await waitFor('the arrival', () => rig.arrived.length === 1);
    rig.nodeRed.RED.events.once('flows:stopping', () => rig.arrived[0]?.finish());
    await rig.nodeRed.deploy(flow.after, 'nodes');
    expect(await verdict).toEqual(DONE);
  });
});

describe('N13 deploys under load', () => {
  it('acknowledge nothing early and leave no record without a verdict', async () => {
    const flow = withChange(
      [
        ['src', 't-source', 'w'],
        ['w', 'switch', 'f', switchOn({ t: 'else' })],
        ['f', 'function', 'd', func('await null; return {payload: msg.payload}')],
        ['d', 'delay', 'sink', delay(20)],
        ['sink', 't-sink', '', { ms: 5 }],
      ],
      'z.d',
    );
    await rig.nodeRed.deploy(flow.before);
    const kinds: string[] = [];
    let fired = 0;
    let source = rig.nodeRed.node('z.src');
    // Also between stop and start, from the instance that was: what no source of ours would do.
    const load = setInterval(() => {
      source = rig.nodeRed.RED.nodes.getNode('z.src') ?? source;
      const record = fired++;
      const id = String(record);
      const options = { stamp: { id, source: 's', receivedAt: 1, attempt: 1 }, origin: id, timeoutMs: 4000 };
      void rig.lineage.send(source, { payload: record }, options).then(({ kind }) => (kinds[record] = kind));
    }, 2);
    for (const type of [...TYPES, ...TYPES, ...TYPES]) {
      const seen = fired;
      await waitFor('records under way', () => fired > seen + 20);
      await rig.nodeRed.deploy(kinds.length % 2 ? flow.before : flow.after, type);
      await rig.nodeRed.deploy(kinds.length % 2 ? flow.after : flow.before, type);
    }
    clearInterval(load);
    await waitFor('all verdicts', () => rig.lineage.active === 0);
    const delivered = new Set(rig.finished.map(({ msg }) => msg.payload));
    expect(kinds.filter(Boolean)).toHaveLength(fired);
    expect(new Set(kinds)).toEqual(new Set(['done', 'aborted']));
    expect(
      kinds.flatMap((kind, record) => (kind === 'done' && !delivered.has(record) ? [record] : [])),
    ).toEqual([]);
    expect(rig.late).toEqual([]);
  });
});
