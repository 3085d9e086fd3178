// How long the registry's walk takes at a deploy, as a table; the limits are those the project promises.
import { buildFlowGraph, reach } from '#lib/flow-graph/flow-graph';
import type { FlowConfigNode } from '#lib/node-red/types';

interface Measured {
  readonly flow: string;
  readonly nodes: number;
  readonly sinks: number;
  readonly buildMs: number;
  readonly reachMs: number;
  readonly limitMs: number;
  /** What the limit is for: both together, or one source on a graph that exists. */
  readonly limitOf: 'build + reach' | 'reach';
}

const OPTIONS = { subflowReach: 'conservative' } as const;
const tab = (id: string): FlowConfigNode => ({ id, type: 'tab' });
const stage = (id: string, z: string, to: string[]): FlowConfigNode => ({
  id,
  type: 'function',
  z,
  func: 'msg.seen = true;\nreturn msg;',
  wires: [to],
});

function chain(length: number): FlowConfigNode[] {
  const stages = Array.from({ length }, (_, i) =>
    stage(`n${i}`, 'T', [i + 1 === length ? 'S' : `n${i + 1}`]),
  );
  return [
    tab('T'),
    { id: 'W', type: 'signed-webhook', z: 'T', wires: [['n0']] },
    ...stages,
    { id: 'S', type: 'rest-sink', z: 'T', wires: [] },
  ];
}

/** Ten tabs; each link leads to two link ins somewhere else, so that one source meets nearly everything. */
function linked(links: number, stagesPerLink: number): FlowConfigNode[] {
  const tabOf = (i: number) => `T${i % 10}`;
  const parts = Array.from({ length: links }, (_, i) => {
    const stages = Array.from({ length: stagesPerLink }, (_, k) =>
      stage(`f${i}-${k}`, tabOf(i), [k + 1 === stagesPerLink ? `out${i}` : `f${i}-${k + 1}`]),
    );
    const targets = [`in${(i * 7 + 1) % links}`, `in${(i * 3 + 2) % links}`];
    return [
      { id: `in${i}`, type: 'link in', z: tabOf(i), links: [], wires: [[`f${i}-0`, `s${i}`]] },
      ...stages,
      { id: `out${i}`, type: 'link out', z: tabOf(i), mode: 'link', links: targets, wires: [] },
      { id: `s${i}`, type: 'rest-sink', z: tabOf(i), wires: [] },
    ];
  }).flat();
  const tabs = Array.from({ length: 10 }, (_, i) => tab(`T${i}`));
  return [...tabs, { id: 'W', type: 'signed-webhook', z: 'T0', wires: [['in0']] }, ...parts];
}

function medianMs(runs: number, work: () => void): number {
  const times = Array.from({ length: runs }, () => {
    const started = performance.now();
    work();
    return performance.now() - started;
  }).sort((a, b) => a - b);
  return times[Math.floor(runs / 2)] ?? Number.NaN;
}

function measure(
  flow: string,
  flows: FlowConfigNode[],
  limitMs: number,
  limitOf: Measured['limitOf'],
): Measured {
  const graph = buildFlowGraph(flows);
  return {
    flow,
    nodes: graph.nodes.length,
    sinks: reach(graph, 'W', OPTIONS).sinks.length,
    buildMs: medianMs(15, () => buildFlowGraph(flows)),
    reachMs: medianMs(15, () => reach(graph, 'W', OPTIONS)),
    limitMs,
    limitOf,
  };
}

function run(): void {
  const results = [
    measure('20,000 nodes in a row', chain(20_000), 50, 'build + reach'),
    measure('3,000 nodes, 500 links', linked(500, 4), 20, 'reach'),
  ];
  const ms = (value: number) => value.toFixed(1);
  console.table(
    results.map((one) => {
      const counted = one.limitOf === 'reach' ? one.reachMs : one.buildMs + one.reachMs;
      return {
        flow: one.flow,
        nodes: one.nodes,
        'sinks reached': one.sinks,
        'build ms': ms(one.buildMs),
        'reach ms': ms(one.reachMs),
        limit: `${one.limitOf} < ${one.limitMs} ms`,
        'of the limit': `${(counted / one.limitMs).toFixed(2)}x`,
        kept: counted < one.limitMs,
      };
    }),
  );
}

run();
