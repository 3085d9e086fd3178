import type { FlowConfigNode } from '../node-red/types';
import { roleOf } from '../flow-graph/node-types';
import type { StatusDocument } from '../api/status-document';

/** What there is to watch, by the names that are labels in the metrics. Each name once, in the order of the flow. */
export interface Inventory {
  readonly sources: readonly string[];
  readonly sinks: readonly string[];
  /** Names of the queues' files, not of their nodes. */
  readonly queues: readonly string[];
}

const textOf = (values: readonly unknown[]) =>
  values.find((value): value is string => typeof value === 'string' && value !== '');
const unique = (names: readonly (string | undefined)[]) => [
  ...new Set(names.filter((name) => name !== undefined)),
];

/** Of a running Node-RED. */
export function inventoryOfStatus({ sinks, sources }: Pick<StatusDocument, 'sinks' | 'sources'>): Inventory {
  const entries = sources.filter(({ type }) => roleOf(String(type)) === 'source');
  return {
    sources: unique(entries.map(({ name }) => textOf([name]))),
    sinks: unique(sinks.map(({ name }) => textOf([name]))),
    queues: unique(sinks.map(({ queue }) => textOf([queue]))),
  };
}

/** Of a flow file: what isn't disabled, named as the nodes name themselves. */
export function inventoryOfFlows(flows: readonly FlowConfigNode[]): Inventory {
  const off = new Set(flows.filter((node) => node['disabled'] === true).map(({ id }) => id));
  const live = flows.filter((node) => node['d'] !== true && !off.has(node.z ?? ''));
  const withRole = (...roles: readonly unknown[]) => live.filter(({ type }) => roles.includes(roleOf(type)));
  const word = (type: string) => type.split('-')[0] ?? type;
  return {
    sources: unique(
      withRole('source').map((node) => textOf([node['name'], node['hook'], node['source'], word(node.type)])),
    ),
    sinks: unique(withRole('sink', 'queue').map((node) => textOf([node['name'], word(node.type)]))),
    queues: unique(withRole('queue').map((node) => textOf([node['queue'], 'push']))),
  };
}
