import { join } from 'node:path';
import type { Message, RuntimeNode } from '#lib/node-red/types';
import type { FlowNode } from './node-red';

/** Folder to give to `startNodeRed` as `nodesDir` for flows with probes. */
export const probeNodes = join(import.meta.dirname, 'nodes');

export interface ProbeSink extends RuntimeNode {
  readonly received: Message[];
  finish: (msg: Message, send: (msg: Message) => void, done: (error?: Error) => void) => void;
}

export interface ProbeStuck extends RuntimeNode {
  readonly stuck: ((error?: Error) => void)[];
}

export const tab = (id = 'tab', label = id): FlowNode => ({ id, type: 'tab', label });

/** A node that records what reaches it; it ends each message at once unless its `finish` is replaced. */
export const probe = (id: string, z = 'tab'): FlowNode => ({ id, type: 'probe-sink', z, wires: [[]] });

/** A node that never calls done by itself. */
export const stuck = (id: string, z = 'tab'): FlowNode => ({ id, type: 'probe-stuck', z, wires: [[]] });

export const functionNode = (id: string, func: string, wires: string[][], z = 'tab'): FlowNode => ({
  id,
  type: 'function',
  z,
  func,
  outputs: wires.length,
  timeout: 0,
  noerr: 0,
  initialize: '',
  finalize: '',
  libs: [],
  wires,
});
