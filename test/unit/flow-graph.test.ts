import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { buildFlowGraph, reach, roleOf, type ReachOptions } from '#lib/flow-graph/flow-graph';
import type { FlowConfigNode } from '#lib/node-red/types';

const tab = (id: string, disabled = false): FlowConfigNode => ({ id, type: 'tab', disabled });
const node = (
  id: string,
  type: string,
  wires: (string | null)[][] = [],
  more: object = {},
): FlowConfigNode => ({
  id,
  type,
  z: 'T',
  wires,
  ...more,
});
const on = (z: string, made: FlowConfigNode): FlowConfigNode => ({ ...made, z });
const webhook = (...to: string[]) => node('W', 'signed-webhook', [to]);
const pass = (id: string, ...to: string[]) => node(id, 'function', [to], { func: 'return msg;' });
const sink = (id: string, ...to: string[]) => node(id, 'rest-sink', [to]);
const queue = (id: string, ...to: string[]) => node(id, 'push-queue', [to]);
const subflow = (
  id: string,
  entry: string[],
  exits: { id: string; port: number }[][] = [],
): FlowConfigNode => ({
  id,
  type: 'subflow',
  name: id,
  in: [{ wires: entry.map((inner) => ({ id: inner })) }],
  out: exits.map((wires) => ({ wires })),
});
const T = tab('T');

function from(source: string, flows: readonly FlowConfigNode[], options: Partial<ReachOptions> = {}) {
  return reach(buildFlowGraph(flows), source, { subflowReach: 'conservative', ...options });
}
const exactly = { subflowReach: 'exact' } as const;

describe('a queue', () => {
  const flow = [T, webhook('Q'), queue('Q', 'f'), pass('f', 'S'), sink('S')];

  it('O17 ends the walk and is a source of its own', () => {
    expect(from('W', flow).sinks).toEqual(['Q']);
    expect(from('Q', flow).sinks).toEqual(['S']);
  });

  it('O17 reaches itself when its records come back', () => {
    expect(from('Q', [T, queue('Q', 'f'), pass('f', 'Q')]).certain).toEqual(['Q']);
  });

  it('O17 hands its input on to complete and catch nodes that watch it', () => {
    const watched = [
      ...flow,
      node('done', 'complete', [['S2']], { scope: ['Q'] }),
      node('error', 'catch', [['S3']], { scope: ['Q'] }),
      sink('S2'),
      sink('S3'),
    ];
    expect(from('W', watched).sinks).toEqual(['Q', 'S2', 'S3']);
    // Its own refusals may end in S3, but the output must not wait for that.
    expect(from('Q', watched).certain).toEqual(['S']);
  });

  it('O17 does not surely reach what is wired to its output for dead letters', () => {
    const { sinks, certain } = from('Q', [T, node('Q', 'push-queue', [['A'], ['B']]), sink('A'), sink('B')]);
    expect({ sinks, certain }).toEqual({ sinks: ['A', 'B'], certain: ['A'] });
  });
});

describe('sinks and stages', () => {
  it('O17 walks on behind a sink, whose output says that it delivered', () => {
    expect(from('W', [T, webhook('A'), sink('A', 'B'), sink('B')]).sinks).toEqual(['A', 'B']);
  });

  it('never counts a dlq as a sink', () => {
    expect(from('W', [T, webhook('D'), node('D', 'dlq', [['S']]), sink('S')]).sinks).toEqual(['S']);
  });

  it('O81 never counts a live view: websocket nodes are no sinks, and listed as not analysed', () => {
    const { sinks, notAnalysed } = from('W', [T, webhook('ws'), node('ws', 'websocket out')]);
    expect(sinks).toEqual([]);
    expect(notAnalysed).toMatchObject([{ id: 'ws', type: 'websocket out' }]);
  });

  it('knows the role of every node of this package', () => {
    const { 'node-red': pack } = JSON.parse(
      readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'),
    ) as { 'node-red': { nodes: Record<string, string> } };
    const types = Object.keys(pack.nodes).filter((type) => !type.startsWith('sluice-'));
    expect(types).not.toEqual([]);
    expect(types.filter((type) => roleOf(type) === undefined)).toEqual([]);
  });
});

describe('ids that lead nowhere', () => {
  it('are passed over: dangling, null, wrong shapes, disabled nodes', () => {
    const { sinks } = from('W', [
      T,
      node('W', 'signed-webhook', [['gone', 'A', 'off'], null as never, [null, 'B']]),
      node('off', 'junction', [['C']], { d: true }),
      node('lo', 'link out', [], { links: 'x' }),
      { id: 'strange', type: 'catch', z: 'T', wires: 'no', scope: [{}] },
      ...['A', 'B', 'C'].map((id) => sink(id)),
    ]);
    expect(sinks).toEqual(['A', 'B']);
  });

  it('throws with a code when the source itself is unknown or disabled', () => {
    const unknown = expect.objectContaining({ code: 'ERR_SLUICE_FLOW_SOURCE_UNKNOWN' }) as Error;
    expect(() => from('X', [T])).toThrow(unknown);
    expect(() => from('W', [tab('T', true), webhook()])).toThrow(unknown);
  });

  it('takes a tab that the file lacks for an enabled one, as the runtime does', () => {
    expect(from('W', [webhook('S'), sink('S')]).sinks).toEqual(['S']);
  });
});

describe('link calls', () => {
  const call = (id: string, target: string, ...to: string[]) =>
    node(id, 'link call', [to], { linkType: 'static', links: [target] });
  const entry = (id: string, ...to: string[]) => node(id, 'link in', [to]);
  const back = node('back', 'link out', [], { mode: 'return', links: [] });

  it('O17 go on only when the routine can return, through a nested call, too', () => {
    const routine = (inner: FlowConfigNode[]) => [
      T,
      webhook('c'),
      call('c', 'r', 'S'),
      sink('S'),
      entry('r', 'c2'),
      call('c2', 'r2', 'back'),
      entry('r2', 'f'),
      back,
      ...inner,
    ];
    expect(from('W', routine([pass('f', 'back')])).sinks).toEqual(['S']);
    expect(from('W', routine([pass('f')])).sinks).toEqual([]);
  });

  it('O17 return to the caller, not to other callers of the same routine', () => {
    const flow = [
      T,
      webhook('c'),
      call('c', 'r', 'A'),
      call('other', 'r', 'B'),
      entry('r', 'back'),
      back,
      sink('A'),
      sink('B'),
    ];
    expect(from('W', flow).sinks).toEqual(['A']);
  });

  it('O17 return from a catch branch of the routine', () => {
    const flow = [
      T,
      tab('R'),
      webhook('c'),
      call('c', 'r', 'A'),
      sink('A'),
      on('R', entry('r', 'f')),
      on('R', pass('f')),
      on('R', node('k', 'catch', [['back']], { scope: null })),
      on('R', back),
    ];
    expect(from('W', flow).sinks).toEqual(['A']);
  });

  it('O17 end in a routine that only calls itself', () => {
    const flow = [
      T,
      webhook('c'),
      call('c', 'r', 'A'),
      entry('r', 'c2'),
      call('c2', 'r', 'back'),
      back,
      sink('A'),
    ];
    expect(from('W', flow).sinks).toEqual([]);
  });

  it('O17 do not take a record through a queue back to the caller', () => {
    const flow = [T, webhook('c'), call('c', 'r', 'A'), entry('r', 'Q'), queue('Q', 'back'), back, sink('A')];
    expect(from('W', flow).sinks).toEqual(['Q']);
  });

  it('O17 reach a link in beside them in a subflow, and one on a tab', () => {
    const inSubflow = (target: string) => [
      T,
      subflow('SF', ['c']),
      webhook('x'),
      node('x', 'subflow:SF', []),
      on('SF', call('c', target)),
      on('SF', entry('li', 'A')),
      on('SF', sink('A')),
      entry('out', 'B'),
      sink('B'),
    ];
    expect(from('W', inSubflow('li'), exactly).sinks).toEqual(['x-A']);
    expect(from('W', inSubflow('out'), exactly).sinks).toEqual(['B']);
  });

  it('O17 to a target that the message names reach every live link in, none of them for certain', () => {
    const flow = [
      T,
      tab('off', true),
      webhook('c'),
      node('c', 'link call', [['A']], { linkType: 'dynamic', links: [] }),
      entry('r1', 'S1', 'back'),
      on('off', entry('r2', 'S2')),
      back,
      sink('A'),
      sink('S1'),
      on('off', sink('S2')),
    ];
    const { sinks, certain, conservative, why } = from('W', flow);
    expect({ sinks, certain, conservative }).toEqual({
      sinks: ['A', 'S1'],
      certain: ['A'],
      conservative: true,
    });
    expect(why).toEqual(['c calls a link in that is known only at run time']);
  });

  it('O17 say that link ins inside subflow instances are left out, unless the call is inside, too', () => {
    const flow = [
      T,
      subflow('SF', ['c']),
      node('x', 'subflow:SF'),
      webhook('x', 'c0'),
      node('c0', 'link call', [[]], { linkType: 'dynamic', links: [] }),
      on('SF', node('c', 'link call', [[]], { linkType: 'dynamic', links: [] })),
      on('SF', entry('li', 'A')),
      on('SF', sink('A')),
    ];
    const outside = from('c0', flow, exactly);
    expect(outside.sinks).toEqual([]);
    expect(outside.notAnalysed).toMatchObject([{ id: 'c0' }]);
    expect(from('x', flow, exactly).sinks).toEqual(['x-A']);
  });

  it('O17 from function code count as calls to any link in', () => {
    const code = 'const r = await node.linkcall("enrich", msg); return r;';
    const flow = [
      T,
      webhook('f'),
      node('f', 'function', [['A']], { func: code }),
      sink('A'),
      entry('r', 'S'),
      sink('S'),
    ];
    const { sinks, certain } = from('W', flow);
    expect({ sinks, certain }).toEqual({ sinks: ['A', 'S'], certain: ['A'] });
  });
});

describe('link out', () => {
  it('O17 leads to both ends of its links, but not across the border of a subflow', () => {
    const flow = [
      T,
      subflow('SF', ['li']),
      webhook('lo'),
      node('lo', 'link out', [], { mode: 'link', links: ['a', 'li'] }),
      node('a', 'link in', [['A']], { links: [] }),
      node('b', 'link in', [['B']], { links: ['lo'] }),
      node('x', 'subflow:SF'),
      on('SF', node('li', 'link in', [['C']], { links: ['lo'] })),
      on('SF', sink('C')),
      sink('A'),
      sink('B'),
    ];
    expect(from('W', flow).sinks).toEqual(['A', 'B']);
  });
});

describe('catch nodes', () => {
  const caught = (catchers: FlowConfigNode[], more: FlowConfigNode[] = [], groupOfF?: string) =>
    from('W', [
      T,
      webhook('j'),
      node('j', 'junction', [['f']]),
      { ...pass('f'), ...(groupOfF !== undefined && { g: groupOfF }) },
      ...catchers,
      ...catchers.map(({ id }) => sink(`S-${id}`)),
      ...more,
    ]).sinks;
  const catcher = (id: string, more: object) =>
    node(id, 'catch', [[`S-${id}`]], { scope: ['f'], uncaught: false, ...more });
  const group = (id: string, g?: string): FlowConfigNode => ({
    id,
    type: 'group',
    z: 'T',
    ...(g !== undefined && { g }),
  });

  it('O17 follow the errors of the nodes they name', () => {
    expect(caught([catcher('a', {}), catcher('b', { scope: ['zz'] }), catcher('c', { scope: [] })])).toEqual([
      'S-a',
    ]);
  });

  it('O17 of a group cover the groups inside it', () => {
    const groups = [group('G'), group('H', 'G'), group('X')];
    const scoped = ['G', 'H', 'X'].map((g) => catcher(`k${g}`, { g, scope: 'group' }));
    expect(caught(scoped, groups, 'H')).toEqual(['S-kG', 'S-kH']);
    expect(caught(scoped, groups, 'G')).toEqual(['S-kG']);
    expect(caught(scoped, groups)).toEqual([]);
  });

  it('O17 for uncaught errors get what no earlier or nearer one took', () => {
    const named = { scope: null, uncaught: true };
    expect(caught([catcher('rest', named), catcher('all', { scope: null })])).toEqual(['S-all']);
    expect(caught([catcher('rest', named), catcher('more', named)])).toEqual(['S-rest', 'S-more']);
    const inGroup = [catcher('near', { ...named, g: 'G' }), catcher('all', { scope: null })];
    expect(caught(inGroup, [group('G')], 'G')).toEqual(['S-near', 'S-all']);
  });

  it('O17 outside get what nobody inside a subflow took, with the instance as the reporting node', () => {
    const inside = (innerCatch: FlowConfigNode[]) => [
      T,
      subflow('SF', ['f']),
      webhook('x'),
      node('x', 'subflow:SF'),
      on('SF', pass('f')),
      ...innerCatch.map((one) => on('SF', one)),
      on('SF', sink('S-in')),
      node('out', 'catch', [['S-out']], { scope: ['x'] }),
      sink('S-out'),
    ];
    expect(from('W', inside([]), exactly).sinks).toEqual(['S-out']);
    expect(from('W', inside([node('in', 'catch', [['S-in']], { scope: null })]), exactly).sinks).toEqual([
      'x-S-in',
    ]);
  });
});

describe('subflows', () => {
  const twice = [
    T,
    tab('E'),
    subflow('OUTER', ['c'], [[{ id: 'c', port: 0 }]]),
    subflow('INNER', ['b'], [[{ id: 'b', port: 0 }]]),
    webhook('i1'),
    node('i1', 'subflow:OUTER', [['A']]),
    node('i2', 'subflow:OUTER', [['B']]),
    sink('A'),
    sink('B'),
    on('E', sink('elsewhere')),
    on('OUTER', node('c', 'subflow:INNER', [['left-out']])),
    on('INNER', pass('b', 'K')),
    on('INNER', sink('K')),
  ];

  it('O17 are walked through in exact mode: nested, each instance by itself', () => {
    const { sinks, conservative } = from('W', twice, exactly);
    expect({ sinks, conservative }).toEqual({ sinks: ['A', 'i1-c-K'], conservative: false });
  });

  it('O19 make the answer every enabled sink of the tabs a record can be on, the sure ones told apart', () => {
    const { sinks, certain, conservative, why } = from('W', twice);
    expect(sinks).toEqual(['A', 'B', 'i1-c-K', 'i2-c-K']);
    expect(certain).toEqual(['A', 'i1-c-K']);
    expect(conservative).toBe(true);
    expect(why).toEqual(['passes subflow instance i1', 'passes subflow instance i1-c']);
  });

  it('O17 wired straight from input to output pass records on', () => {
    const flow = [
      T,
      subflow('SF', [], [[{ id: 'SF', port: 0 }]]),
      webhook('x'),
      node('x', 'subflow:SF', [['A']]),
      sink('A'),
    ];
    expect(from('W', flow, exactly).sinks).toEqual(['A']);
  });

  it('O17 can hold the source, named by its run-time id', () => {
    const flow = [
      T,
      subflow('SF', [], [[{ id: 'W', port: 0 }]]),
      on('SF', webhook()),
      node('x', 'subflow:SF', [['A']]),
      node('y', 'subflow:SF', [['B']]),
      sink('A'),
      sink('B'),
    ];
    expect(from('x-W', flow, exactly).sinks).toEqual(['A']);
    expect(from('y-W', flow)).toMatchObject({ sinks: ['A', 'B'], certain: ['B'], conservative: true });
  });

  it('O19 whose inside cannot be seen stay conservative in exact mode: missing, or containing themselves', () => {
    const unseen = (inside: FlowConfigNode[]) => [
      T,
      webhook('x'),
      node('x', 'subflow:SF', [['A']]),
      sink('A'),
      sink('B'),
      ...inside,
    ];
    for (const flow of [unseen([]), unseen([subflow('SF', ['y']), on('SF', node('y', 'subflow:SF'))])]) {
      const { sinks, conservative, notAnalysed } = from('W', flow, exactly);
      expect(sinks).toEqual(['A', 'B']);
      expect(conservative).toBe(true);
      expect(notAnalysed).toHaveLength(1);
    }
  });

  it('O19 that multiply beyond all bounds are not expanded to the end', () => {
    const levels = Array.from({ length: 60 }, (_, i) => [
      subflow(`S${i}`, [`a${i}`, `b${i}`]),
      on(`S${i}`, node(`a${i}`, `subflow:S${i + 1}`)),
      on(`S${i}`, node(`b${i}`, `subflow:S${i + 1}`)),
    ]).flat();
    const flow = [T, webhook('x'), node('x', 'subflow:S0', [['A']]), sink('A'), sink('B'), ...levels];
    const { sinks, conservative, notAnalysed } = from('W', flow, exactly);
    expect(sinks).toEqual(['A', 'B']);
    expect(conservative).toBe(true);
    expect(notAnalysed[0]?.why).toMatch(/more than [0-9]+ nodes/);
  });
});

describe('packaged subflows', () => {
  const flow = [T, webhook('m'), node('m', 'my-module', [['A']]), sink('A'), sink('B')];

  it('O19 are known by the live sinks inside them, and make the answer conservative in both modes', () => {
    const liveSinks = [
      { id: 'm-in-S', z: 'm-in' },
      { id: 'A', z: 'T' },
    ];
    expect(from('W', flow, { ...exactly, liveSinks })).toMatchObject({
      sinks: ['A', 'B', 'm-in-S'],
      certain: ['A'],
      conservative: true,
      why: ["passes packaged subflow m, whose inside the flow doesn't show"],
    });
    expect(from('W', flow, exactly)).toMatchObject({ sinks: ['A'], conservative: false });
  });

  it('O19 can hold the source', () => {
    expect(from('m-W2', flow, exactly)).toMatchObject({
      sinks: ['A', 'B'],
      certain: ['A'],
      conservative: true,
    });
  });
});

describe('complete and status nodes', () => {
  it('O17 complete nodes hand records on, but not those of a subflow instance nor of a node they feed', () => {
    const flow = [
      T,
      subflow('SF', []),
      webhook('f', 'x'),
      pass('f'),
      node('x', 'subflow:SF'),
      node('c1', 'complete', [['A']], { scope: ['f'] }),
      node('c2', 'complete', [['B']], { scope: ['x'] }),
      node('c3', 'complete', [['f', 'C']], { scope: ['f'] }),
      node('st', 'status', [['D']], { scope: null }),
      ...['A', 'B', 'C', 'D'].map((id) => sink(id)),
    ];
    expect(from('W', flow, exactly).sinks).toEqual(['A']);
  });
});

describe('what lineage cannot track', () => {
  const untrackable = (type: string, more: object) =>
    from('W', [T, webhook('n'), node('n', type, [[]], more)]).untrackable.map(({ id }) => id);

  it.each([
    ['a trigger with a second message', { op1: '1', op2: '0', op2type: 'str', duration: '250' }, true],
    ['a trigger that only sends once', { op2type: 'nul', duration: '250' }, false],
    ['a trigger that blocks until it is reset', { op2type: 'str', duration: '0' }, false],
    [
      'the same with the delay from the message',
      { op2type: 'str', duration: '0', overrideDelay: true },
      true,
    ],
    ['a trigger that repeats', { op1type: 'str', op2type: 'nul', duration: '-250' }, true],
  ])('is %s', (_, more, expected) => {
    expect(untrackable('trigger', more)).toEqual(expected ? ['n'] : []);
  });

  it('is function code that sends from a callback', () => {
    expect(untrackable('function', { func: 'setTimeout(() => node.send(msg), 10);' })).toEqual(['n']);
    expect(untrackable('function', { func: 'return msg;' })).toEqual([]);
  });
});

describe('what the walk does not analyse', () => {
  it('is listed with its reason', () => {
    const { notAnalysed } = from('W', [
      T,
      webhook('m', 'h', 'f', 'c', 'd'),
      node('m', 'mqtt out'),
      node('h', 'http request', [[]]),
      node('f', 'function', [[]], { func: 'flow.set("last", msg.payload); return msg;' }),
      node('c', 'change', [[]], { rules: [{ t: 'set', p: 'x', pt: 'global', to: '1' }] }),
      node('d', 'change', [[]], { rules: [{ t: 'set', p: 'x', pt: 'msg', to: 'x', tot: 'flow' }] }),
      node('unreached', 'mqtt out'),
    ]);
    expect(notAnalysed.map(({ id }) => id)).toEqual(['m', 'h', 'f', 'c']);
  });
});

describe('size', () => {
  it('O17 walks 20,000 nodes in a row without recursion', () => {
    const chain = Array.from({ length: 20_000 }, (_, i) => pass(`n${i}`, i === 19_999 ? 'S' : `n${i + 1}`));
    expect(from('W', [T, webhook('n0'), ...chain, sink('S')]).sinks).toEqual(['S']);
  });

  it('O17 walks 5,000 nested link calls and 500 nested subflows without recursion', () => {
    const routines = Array.from({ length: 5000 }, (_, i) => [
      node(`r${i}`, 'link in', [[`c${i}`]]),
      node(`c${i}`, 'link call', [['back']], { linkType: 'static', links: [`r${i + 1}`] }),
    ]).flat();
    const calls = [
      T,
      webhook('c'),
      node('c', 'link call', [['S']], { links: ['r0'], linkType: 'static' }),
      sink('S'),
    ];
    const ends = [node('r5000', 'link in', [['back']]), node('back', 'link out', [], { mode: 'return' })];
    expect(from('W', [...calls, ...routines, ...ends]).sinks).toEqual(['S']);

    const nested = Array.from({ length: 500 }, (_, i) => [
      subflow(`S${i}`, [`n${i}`], [[{ id: `n${i}`, port: 0 }]]),
      on(`S${i}`, node(`n${i}`, i === 499 ? 'junction' : `subflow:S${i + 1}`, [[]])),
    ]).flat();
    expect(
      from('W', [T, webhook('x'), node('x', 'subflow:S0', [['S']]), sink('S'), ...nested], exactly).sinks,
    ).toEqual(['S']);
  });
});
