import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { buildFlowGraph, reach, type FlowGraph, type Reach } from '#lib/flow-graph/flow-graph';
import type { FlowConfigNode } from '#lib/node-red/types';

interface Case {
  readonly id: string;
  readonly title: string;
  readonly latitude: 'strict' | 'superset' | 'either';
  readonly source: string;
  readonly flow: readonly FlowConfigNode[] | 'ladder';
  readonly expect: {
    readonly mustContain: string[];
    readonly mustNotContain: string[];
    readonly preciseAnswer?: string[];
    readonly preferablyNot?: string[];
  };
}

const cases = JSON.parse(
  readFileSync(join(import.meta.dirname, '../cases/flow-graph.json'), 'utf8'),
) as readonly Case[];

/** Sixty diamonds in a row: 2^60 paths through 181 nodes. */
function ladder(): FlowConfigNode[] {
  const rungs = Array.from({ length: 60 }, (_, i) => [
    { id: `n${i}`, type: 'function', z: 'T', func: 'return msg;', wires: [[`a${i}`, `b${i}`]] },
    { id: `a${i}`, type: 'change', z: 'T', wires: [[`n${i + 1}`]] },
    { id: `b${i}`, type: 'change', z: 'T', wires: [[`n${i + 1}`]] },
  ]).flat();
  return [
    { id: 'T', type: 'tab' },
    { id: 'W', type: 'signed-webhook', z: 'T', wires: [['n0']] },
    ...rungs,
    { id: 'n60', type: 'function', z: 'T', func: 'return msg;', wires: [['A']] },
    { id: 'A', type: 'clickhouse-sink', z: 'T', wires: [] },
    { id: 'B', type: 'postgres-sink', z: 'T', wires: [] },
  ];
}

/** The cases name nodes by their definition's id; a source inside a subflow means its one live instance. */
function liveId(graph: FlowGraph, definitionId: string): string {
  const live = graph.nodes.filter(({ config }) => config.id === definitionId);
  expect(live).toHaveLength(1);
  return live[0]?.id ?? '';
}

const definitionIds = (graph: FlowGraph, ids: readonly string[]) =>
  ids.map((id) => graph.byId.get(id)?.config.id ?? id).sort();

function answer(one: Case, subflowReach: 'conservative' | 'exact') {
  const graph = buildFlowGraph(one.flow === 'ladder' ? ladder() : one.flow);
  const found: Reach = reach(graph, liveId(graph, one.source), { subflowReach });
  return { ...found, sinks: definitionIds(graph, found.sinks), certain: definitionIds(graph, found.certain) };
}

describe.each(cases)('O17 $id $title', (one) => {
  const { mustContain, mustNotContain, preciseAnswer } = one.expect;

  it('answers what the case allows', () => {
    const { sinks } = answer(one, 'conservative');
    expect(sinks).toEqual(expect.arrayContaining(mustContain));
    expect(sinks.filter((id) => mustNotContain.includes(id))).toEqual([]);
    if (one.latitude !== 'superset' && preciseAnswer) expect(sinks).toEqual([...preciseAnswer].sort());
  });

  it('answers precisely when subflows are walked through', () => {
    const { sinks, certain } = answer(one, 'exact');
    // The oracle's sinks never fail. Ours may, and then the tab's catch node has the record, too.
    const failures = one.id === 'FG-35' ? ['E'] : [];
    expect(sinks).toEqual([...(preciseAnswer ?? mustContain), ...failures].sort());
    expect(sinks).toEqual(expect.arrayContaining(certain));
  });
});

it('runs all of the cases', () => {
  expect(cases).toHaveLength(26);
});
