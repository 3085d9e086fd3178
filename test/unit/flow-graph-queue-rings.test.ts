import { describe, expect, it } from 'vitest';
import { awaitedSinks, buildFlowGraph, queueRing, reach } from '#lib/flow-graph/flow-graph';

const certain = (edges: Record<string, string[]>) => new Map(Object.entries(edges));

describe('rings of queues', () => {
  it('O17 a queue never waits for itself', () => {
    expect(awaitedSinks('A', certain({ A: ['A', 'S'] }))).toEqual(['S']);
  });

  it('O17 two queues that feed each other wait for neither', () => {
    const two = certain({ A: ['B', 'S'], B: ['A'] });
    expect([awaitedSinks('A', two), awaitedSinks('B', two)]).toEqual([['S'], []]);
  });

  it('O17 finds rings over any number of queues, and no more than the ring', () => {
    const edges = certain({ A: ['B'], B: ['C'], C: ['A', 'D'], D: ['S'], E: ['A'] });
    expect([...queueRing('A', edges)].sort()).toEqual(['A', 'B', 'C']);
    expect([...queueRing('D', edges), ...queueRing('E', edges)]).toEqual([]);
    expect(awaitedSinks('C', edges)).toEqual(['D']);
  });

  it('O17 a queue that feeds another one, which does not feed it, waits for it', () => {
    expect(awaitedSinks('A', certain({ A: ['B'], B: ['S'] }))).toEqual(['B']);
  });

  it('O19 a queue that is in its own answer only for safety is not certain to reach itself', () => {
    const graph = buildFlowGraph([
      { id: 'T', type: 'tab' },
      { id: 'Q', type: 'push-queue', z: 'T', wires: [['x']] },
      { id: 'SF', type: 'subflow', in: [{ wires: [{ id: 's' }] }], out: [] },
      { id: 's', type: 'rest-sink', z: 'SF', wires: [] },
      { id: 'x', type: 'subflow:SF', z: 'T', wires: [] },
    ]);
    const { sinks, certain: sure } = reach(graph, 'Q', { subflowReach: 'conservative' });
    expect({ sinks, sure }).toEqual({ sinks: ['Q', 'x-s'], sure: ['x-s'] });
  });
});
