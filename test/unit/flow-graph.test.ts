import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { buildFlowGraph, reach, roleOf } from '#lib/flow-graph/flow-graph';
import { T, exactly, from, node, on, pass, queue, sink, subflow, tab, webhook } from './flow-graph-flows';

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

  it.each([
    ['a switch', {}, false],
    ['a switch that recreates sequences', { repair: true }, true],
    ['a switch with a rule for the last messages', { rules: [{ t: 'tail', v: 1 }] }, true],
    ['a switch on a store in memory', { property: 'k', propertyType: 'flow' }, false],
    ['a switch on a store that answers later', { property: '#:(slow)::k', propertyType: 'global' }, true],
    [
      'a rule that reads such a store',
      { rules: [{ t: 'btwn', v: '1', vt: 'num', v2: '#:(slow)::k', v2t: 'flow' }] },
      true,
    ],
    [
      'an expression that may read one',
      { property: '$flowContext("k","slow")', propertyType: 'jsonata' },
      true,
    ],
    [
      'an expression that reads none',
      { rules: [{ t: 'jsonata_exp', v: '$now() > 1', vt: 'jsonata' }] },
      false,
    ],
    ['a rule that is such an expression', { rules: [{ t: 'jsonata_exp', v: '$globalContext("k")' }] }, true],
  ])('is %s', (_, more, expected) => {
    const graph = buildFlowGraph([T, webhook('n'), node('n', 'switch', [[]], more)], {
      asyncStores: new Set(['slow']),
    });
    const found = reach(graph, 'W', { subflowReach: 'conservative' }).untrackable;
    expect(found.map(({ id }) => id)).toEqual(expected ? ['n'] : []);
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
