import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { runtimeOf } from '#lib/node-red/runtime';
import type { FlowNode, RunningNodeRed } from '../harness/node-red';
import { startNodeRed } from '../harness/node-red';
import { functionNode, probe, probeNodes, tab, type ProbeSink } from '../harness/probe';
import { queue } from '../harness/queue';
import { readStatus } from '../harness/status';
import { waitFor } from '../harness/wait';
import { callHook, webhook } from '../harness/webhook';
import { linkCall, rbe, split, switchOn, trigger } from './lineage-flows';

const harness = join(import.meta.dirname, '../harness');
const YELLOW = { fill: 'yellow', shape: 'ring', text: '1 untrackable' };
const GREEN = { fill: 'green', shape: 'dot' };
const LATE = 'setTimeout(() => node.send(msg), 50);';

interface LogEntry {
  readonly id?: string;
  readonly msg: unknown;
}
interface Note {
  readonly id: string;
  readonly type: string;
  readonly name?: string;
  readonly why: string;
}

describe('O1 nodes that cannot be tracked', () => {
  let nodeRed: RunningNodeRed;
  const log: LogEntry[] = [];
  const shown = new Map<string, { fill?: string; shape?: string; text?: string }>();

  const node = (id: string, type: string, wires: string[][] = [['sink']], more: object = {}): FlowNode => ({
    id,
    type,
    z: 'tab',
    wires,
    ...more,
  });
  const deploy = (...nodes: FlowNode[]) => nodeRed.deploy([tab(), probe('sink'), ...nodes]);
  const hook = (properties: object = {}) => webhook('w', { wires: [['n']], ...properties });
  const linesOf = (id: string) => log.filter((entry) => entry.id === id).map(({ msg }) => String(msg));
  /** A status is sent at most once a second. */
  const showing = (id: string, status: object) =>
    waitFor(JSON.stringify(status), () => isDeepStrictEqual({ ...shown.get(id), ...status }, shown.get(id)));
  const untrackable = async (id = 'w') => {
    const response = await fetch(`${nodeRed.url}/sluice/api/reach/${id}`);
    return ((await response.json()) as { untrackable: Note[] }).untrackable;
  };
  const ids = async (id = 'w') => (await untrackable(id)).map((note) => note.id);

  beforeAll(async () => {
    nodeRed = await startNodeRed({
      nodesDir: [probeNodes, join(harness, 'lineage-nodes'), join(harness, 'packaged-subflow')],
      settings: {
        contextStorage: {
          default: { module: 'memory' },
          slow: { module: 'localfilesystem', config: { cache: false } },
        },
        logging: { test: { level: 'info', handler: () => (entry: LogEntry) => void log.push(entry) } },
      },
    });
    const { RED } = nodeRed;
    Object.assign(globalThis, { [Symbol.for('sluice.test.lineage')]: { lineage: runtimeOf(RED).lineage } });
    RED.events.on('node-status', ({ id, status }: { id: string; status: object }) => shown.set(id, status));
  });
  beforeEach(() => {
    log.length = 0;
    shown.clear();
  });
  afterAll(() => nodeRed.stop());

  const found: [string, string, FlowNode[]][] = [
    ['a running node that never reports completion', 'n', [node('n', 't-legacy-async')]],
    ['a trigger with a second message', 'n', [node('n', 'trigger', [['sink']], trigger)]],
    ['a function that sends from a callback', 'n', [functionNode('n', LATE, [['sink']])]],
    [
      'a switch that keeps sequences together',
      'n',
      [node('n', 'switch', [['sink']], { ...switchOn({ t: 'else' }), repair: true })],
    ],
    [
      'a switch on an asynchronous context store',
      'n',
      [node('n', 'switch', [['sink']], switchOn({ t: 'else' }, '#:(slow)::key', 'flow'))],
    ],
    [
      'a rule of a switch that reads an asynchronous context store',
      'n',
      [node('n', 'switch', [['sink']], switchOn({ t: 'eq', v: '#:(slow)::key', vt: 'global' }))],
    ],
    [
      'a legacy node inside a subflow',
      'n-inner',
      [
        {
          ...{ id: 'sf', type: 'subflow', name: 'sf', info: '', env: [] },
          in: [{ x: 0, y: 0, wires: [{ id: 'inner' }] }],
          out: [{ x: 0, y: 0, wires: [{ id: 'inner', port: 0 }] }],
        },
        node('inner', 't-legacy-sync', [[]], { z: 'sf' }),
        node('n', 'subflow:sf', [['sink']], { env: [] }),
      ],
    ],
    ['a function deep inside a packaged subflow', 'n-pl-inner-pi-late', [node('n', 'packaged-late')]],
  ];

  it.each(found)('%s is found at deploy, shown, logged and answered unknown', async (_, id, nodes) => {
    await deploy(hook(), ...nodes);
    const notes = await untrackable();
    expect(notes.map((note) => note.id)).toEqual([id]);
    await showing('w', YELLOW);
    const lines = linesOf('w');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(`(${id})`);
    expect(lines[0]).toContain(notes[0]?.why);
  });

  it('a record through any of them is told to come again, never done', async () => {
    for (const [, , nodes] of found.filter(([name]) => !name.includes('sequences'))) {
      await deploy(hook(), ...nodes);
      expect((await callHook(nodeRed, 'w', {})).status).toBe(503);
    }
  });

  it('a switch that keeps sequences together is unknown for parts of one, done for others', async () => {
    const keeps = node('n', 'switch', [['sink']], { ...switchOn({ t: 'else' }), repair: true });
    await deploy(hook(), keeps);
    expect((await callHook(nodeRed, 'w', {})).status).toBe(200);
    await deploy(hook(), node('n', 'split', [['k']], split), { ...keeps, id: 'k' });
    expect((await callHook(nodeRed, 'w', [1, 2])).status).toBe(503);
  });

  it('names them by their name', async () => {
    await deploy(hook(), node('n', 't-legacy-sync', [[]], { name: 'old one' }));
    expect(await untrackable()).toMatchObject([{ id: 'n', type: 't-legacy-sync', name: 'old one' }]);
    expect(linesOf('w')[0]).toContain('t-legacy-sync "old one" (n)');
  });

  it('of nodes that lineage follows, none is found', async () => {
    await deploy(
      hook({ wires: [['n', 'f', 'j', 'lo', 'lc', 's', 'p', 'fm', 'fd', 't']] }),
      node('n', 'switch', [['sink']], switchOn({ t: 'else' })),
      node('fm', 'switch', [['sink']], switchOn({ t: 'else' }, 'key', 'flow')),
      node('f', 'rbe', [['sink']], rbe),
      node('j', 'junction'),
      node('lo', 'link out', [], { mode: 'link', links: ['li'] }),
      node('li', 'link in', [['sink']], { links: ['lo'] }),
      node('lc', 'link call', [['sink']], linkCall('li', 1)),
      node('s', 'packaged-slow'),
      node('p', 'debug', []),
      functionNode('fd', 'setTimeout(() => { node.send(msg); node.done(); }, 5);', [['sink']]),
      node('t', 'trigger', [['sink']], { ...trigger, op2type: 'nul' }),
      node('beside', 't-legacy-sync'),
    );
    expect(await ids()).toEqual([]);
    await showing('w', GREEN);
    expect(linesOf('w')).toEqual([]);
  });

  it('a source that trusts them is green, logs what it trusts, and its records are done', async () => {
    await deploy(hook({ treatLegacyAsDone: true }), node('n', 't-legacy-sync'));
    await showing('w', GREEN);
    expect(linesOf('w')).toHaveLength(1);
    expect(await ids()).toEqual(['n']);
    expect((await callHook(nodeRed, 'w', {})).status).toBe(200);
    expect(nodeRed.node<ProbeSink>('sink').received).toHaveLength(1);
  });

  it('says so at each deploy, partial ones included, and no more once they are gone', async () => {
    const flow = [tab(), probe('sink'), hook(), node('n', 't-legacy-sync')];
    await nodeRed.deploy(flow);
    await nodeRed.deploy([...flow, probe('more')], 'nodes');
    expect(linesOf('w')).toHaveLength(2);
    const instance = nodeRed.node('w');
    await nodeRed.deploy(
      [tab(), probe('sink'), hook(), functionNode('n', 'return msg', [['sink']])],
      'nodes',
    );
    expect(nodeRed.node('w')).toBe(instance);
    expect(linesOf('w')).toHaveLength(2);
    await showing('w', GREEN);
  });

  it('behind a queue its output shows them, and gives records up as unknown unless it trusts them', async () => {
    const parts = (more: object) => [
      queue('q', { wires: [['n'], ['dead']], maxUnknown: 1, ...more }),
      node('n', 't-legacy-sync'),
      probe('dead'),
    ];
    await deploy(hook({ wires: [['q']] }), ...parts({}));
    await showing('q', YELLOW);
    expect([await ids(), await ids('q')]).toEqual([[], ['n']]);
    expect((await callHook(nodeRed, 'w', {})).status).toBe(200);
    await waitFor('the dead letter', () => nodeRed.node<ProbeSink>('dead').received.length === 1);
    await deploy(hook({ wires: [['q']] }), ...parts({ queue: 'trusting', treatLegacyAsDone: true }));
    await waitFor('room in the queue', async () => (await callHook(nodeRed, 'w', {})).status === 200);
    await waitFor('an empty queue', async () => (await readStatus(nodeRed)).push_queue['records'] === 0);
    expect(nodeRed.node<ProbeSink>('dead').received).toHaveLength(0);
    await showing('q', GREEN);
  });

  it('late signs of life are counted in status and metrics, and warned of by names of source and node', async () => {
    await deploy(
      hook({ name: 'orders', treatLegacyAsDone: true }),
      node('n', 't-legacy-async', [['sink']], { name: 'old one' }),
    );
    const lateSends = async () => Number((await readStatus(nodeRed)).engine.stats['late_sends']);
    const before = await lateSends();
    for (let call = 0; call < 3; call += 1) expect((await callHook(nodeRed, 'w', {})).status).toBe(200);
    await waitFor('all late sends', async () => (await lateSends()) === before + 3);
    expect(await runtimeOf(nodeRed.RED).metrics.render()).toContain(
      'sluice_late_sends_total{source="orders"} 3',
    );
    const warnings = log.map(({ msg }) => String(msg)).filter((text) => text.includes('after it was done'));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('t-legacy-async "old one" (n)');
    expect(warnings[0]).toContain('"orders"');
  });
});
