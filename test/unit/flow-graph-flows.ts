/** Small flows, written as short as they can be, and the walk on them. */
import { buildFlowGraph, reach, type ReachOptions } from '#lib/flow-graph/flow-graph';
import type { FlowConfigNode } from '#lib/node-red/types';

export const tab = (id: string, disabled = false): FlowConfigNode => ({ id, type: 'tab', disabled });
export const node = (
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
export const on = (z: string, made: FlowConfigNode): FlowConfigNode => ({ ...made, z });
export const webhook = (...to: string[]) => node('W', 'signed-webhook', [to]);
export const pass = (id: string, ...to: string[]) => node(id, 'function', [to], { func: 'return msg;' });
export const sink = (id: string, ...to: string[]) => node(id, 'rest-sink', [to]);
export const queue = (id: string, ...to: string[]) => node(id, 'push-queue', [to]);
export const subflow = (
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
export const T = tab('T');

export function from(source: string, flows: readonly FlowConfigNode[], options: Partial<ReachOptions> = {}) {
  return reach(buildFlowGraph(flows), source, { subflowReach: 'conservative', ...options });
}
export const exactly = { subflowReach: 'exact' } as const;
