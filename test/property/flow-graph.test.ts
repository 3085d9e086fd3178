import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildFlowGraph, reach } from '#lib/flow-graph/flow-graph';
import type { FlowConfigNode } from '#lib/node-red/types';
import { flow } from './flow-graph-arbitrary';
import { walkNaively } from './flow-graph-reference';

/** So that the answer names every node on the way. */
const everythingIsASink = (type: string) => (type === 'push-queue' ? 'queue' : 'sink');

/** Where the source is live: as it is, or once per live instance. */
function sourcesOf(flows: readonly FlowConfigNode[]): { id: string; path: string[] }[] {
  return buildFlowGraph(flows)
    .nodes.filter(({ config }) => config.id === 'W')
    .map(({ id: liveId }) => ({ id: liveId, path: liveId.split('-') }));
}

describe('the walk on random flows', () => {
  it('O17 meets exactly the nodes that a naive walk of single messages meets', () => {
    fc.assert(
      fc.property(flow, (flows) => {
        const graph = buildFlowGraph(flows, { roleOf: everythingIsASink });
        for (const { id: liveId, path } of sourcesOf(flows)) {
          const { sinks } = reach(graph, liveId, { subflowReach: 'exact' });
          expect([...sinks].sort()).toEqual(walkNaively(flows, path, true).met);
        }
      }),
      { numRuns: 3000 },
    );
  });

  it('O19 answers every enabled sink of the tabs on the way once a subflow is among them', () => {
    fc.assert(
      fc.property(flow, (flows) => {
        const graph = buildFlowGraph(flows);
        for (const { id: liveId, path } of sourcesOf(flows)) {
          const { sinks } = reach(graph, liveId, { subflowReach: 'conservative' });
          expect([...sinks].sort()).toEqual(walkNaively(flows, path, true).conservative);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('O17 is certain of what the naive walk meets without guessed targets and failures of the source', () => {
    fc.assert(
      fc.property(flow, (flows) => {
        const graph = buildFlowGraph(flows);
        const guesses = flows.some(({ linkType }) => linkType === 'dynamic');
        for (const { id: liveId, path } of sourcesOf(flows)) {
          const { certain, sinks } = reach(graph, liveId, { subflowReach: 'conservative' });
          const expected = walkNaively(flows, path, false).exact;
          if (guesses) expect(expected).toEqual(expect.arrayContaining([...certain]));
          else expect([...certain].sort()).toEqual(expected);
          expect(sinks).toEqual(expect.arrayContaining([...certain]));
        }
      }),
      { numRuns: 1000 },
    );
  });
});
