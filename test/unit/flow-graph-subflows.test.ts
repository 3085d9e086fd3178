import { describe, expect, it } from 'vitest';
import type { FlowConfigNode } from '#lib/node-red/types';
import { T, exactly, from, node, on, pass, sink, subflow, tab, webhook } from './flow-graph-flows';

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

  // Fills the graph up to its real bound of 200,000 nodes and walks it: two seconds alone, more beside other tests.
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
  }, 60_000);
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
