import { Command, Option } from 'commander';
import { InputError } from '../errors/errors';
import { buildFlowGraph, reach, type FlowGraph, type Reach, type ReachNote } from '../flow-graph/flow-graph';
import type { FlowConfigNode } from '../node-red/types';
import { readFlowFile } from './flow-file';

interface ReachFlags {
  readonly json: boolean;
  readonly subflowReach: 'conservative' | 'exact';
}

/** Properties by which a node is called, the surest first: a queue may well have its webhook's name. */
const CALLED_BY = ['id', 'name', 'hook', 'source', 'queue'] as const;

function notLive(wanted: string, flows: readonly FlowConfigNode[]): InputError {
  const known = flows.some((node) => CALLED_BY.some((property) => node[property] === wanted));
  return new InputError(
    'ERR_SLUICE_FLOW_SOURCE_UNKNOWN',
    known
      ? `"${wanted}" doesn't run: it, its tab or every instance of its subflow is disabled; enable it, or name another source`
      : `the flow has no node with the id, name, hook, source or queue "${wanted}"; give the id of a source, as the editor's info tab shows it`,
  );
}

/** The run-time id of the node meant by an id or by what it is called. Throws InputError when there is none, or several. */
function findSource(graph: FlowGraph, flows: readonly FlowConfigNode[], wanted: string): string {
  if (graph.byId.has(wanted)) return wanted;
  const candidates = CALLED_BY.map((property) =>
    graph.nodes.filter(({ config }) => config[property] === wanted),
  );
  const found = candidates.find((nodes) => nodes.length > 0) ?? [];
  const [first, ...others] = found;
  if (!first) throw notLive(wanted, flows);
  if (others.length > 0) {
    const ids = found.slice(0, 5).map(({ id }) => id);
    const more = found.length > ids.length ? ', …' : '';
    throw new InputError(
      'ERR_SLUICE_FLOW_SOURCE_AMBIGUOUS',
      `${found.length} nodes go by "${wanted}"; give the id of one of them: ${ids.join(', ')}${more}`,
    );
  }
  return first.id;
}

function describe(graph: FlowGraph, id: string): string {
  const node = graph.byId.get(id);
  if (!node) return id;
  const { type, name } = node.config;
  return typeof name === 'string' && name !== '' ? `${type} "${name}" (${id})` : `${type} (${id})`;
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', title, ...lines.map((line) => `  ${line}`)];
}

function asText(graph: FlowGraph, source: string, found: Reach): string {
  const { sinks, certain, conservative, why } = found;
  const sure = new Set(certain);
  const count = sinks.length === 1 ? '1 sink' : `${sinks.length} sinks`;
  const note = ({ id, why: reason }: ReachNote) => `${describe(graph, id)}: ${reason}`;
  return [
    `${describe(graph, source)} reaches ${count}`,
    ...sinks.map((id) => `  ${describe(graph, id)}${sure.has(id) ? '' : ', for safety'}`),
    ...(sinks.length === 0 ? ['  nothing can make it refuse a record'] : []),
    ...section('The answer is conservative:', conservative ? why : []),
    ...section('No verdict can be told behind:', found.untrackable.map(note)),
    ...section('Not analysed:', found.notAnalysed.map(note)),
  ].join('\n');
}

export function reachCommand(): Command {
  return new Command('reach')
    .summary('which sinks can make a source refuse')
    .description(
      'Walks a flow file from a source to every sink and queue its records can come to. While one of them is full under ' +
        'the block policy, the source refuses. Queues end the walk: give a queue to see what its output reaches.',
    )
    .argument('<flows.json>', "Node-RED's flow file")
    .argument('<source>', 'id, name, hook or source of the source, or the name of a queue')
    .addOption(
      new Option('--subflow-reach <mode>', 'how to go through subflows, as in settings.js')
        .choices(['conservative', 'exact'])
        .default('conservative'),
    )
    .option('--json', 'print {source, sinks, certain, conservative, why, untrackable, notAnalysed}', false)
    .action((file: string, wanted: string, { json, subflowReach }: ReachFlags) => {
      const flows = readFlowFile(file);
      const graph = buildFlowGraph(flows);
      const source = findSource(graph, flows, wanted);
      const found = reach(graph, source, { subflowReach });
      console.log(json ? JSON.stringify({ source, ...found }, null, 2) : asText(graph, source, found));
    });
}
