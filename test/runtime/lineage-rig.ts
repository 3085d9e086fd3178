import { join } from 'node:path';
import { createLineage } from '#lib/delivery/lineage/lineage';
import type { LateEvent, RuntimeLineage } from '#lib/delivery/lineage/runtime-lineage';
import type { Trace, TrackOptions } from '#lib/delivery/lineage/contract';
import type { Verdict } from '#lib/delivery/verdict';
import { DeliveryError } from '#lib/errors/errors';
import type { Message } from '#lib/node-red/types';
import { lineageDepsOf } from '../harness/lineage-nodes/lineage-deps';
import { startNodeRed, type FlowNode, type RunningNodeRed } from '../harness/node-red';

export interface Arrival {
  readonly node: string;
  readonly msg: Message;
  readonly trace: Trace | undefined;
  finish(): void;
}

/** A real Node-RED with a lineage, and what the test sinks in it see. */
export interface LineageRig {
  readonly nodeRed: RunningNodeRed;
  readonly lineage: RuntimeLineage;
  readonly arrived: Arrival[];
  readonly finished: { readonly node: string; readonly msg: Message }[];
  readonly late: LateEvent[];
  readonly faults: unknown[];
  fire(source: string, msg?: Message, options?: Partial<TrackOptions>): Promise<Verdict>;
  stop(): Promise<void>;
}

const ERRORS = {
  plain: () => new Error('sink down'),
  text: () => 'sink down',
  transient: () =>
    new DeliveryError('ERR_SLUICE_DELIVERY_TIMEOUT', 'busy', { failure: 'transient', retryAfterMs: 700 }),
  config: () =>
    new DeliveryError('ERR_SLUICE_DELIVERY_TIMEOUT', 'who are you', { failure: 'config', retryAfterMs: 900 }),
  permanent: () => new DeliveryError('ERR_SLUICE_DELIVERY_TIMEOUT', 'never', { failure: 'permanent' }),
};

export async function startLineageRig(
  settings: Record<string, unknown> = {},
  lingerMs = 10_000,
): Promise<LineageRig> {
  const nodesDir = ['lineage-nodes', 'packaged-subflow'].map((folder) =>
    join(import.meta.dirname, '../harness', folder),
  );
  const nodeRed = await startNodeRed({ nodesDir, settings });
  const faults: unknown[] = [];
  const deps = { ...lineageDepsOf(nodeRed.RED), lingerMs, onFault: (fault: unknown) => faults.push(fault) };
  const lineage = createLineage(deps);
  lineage.install();
  const late: LateEvent[] = [];
  lineage.onLate((event) => late.push(event));
  const seen = { lineage, arrived: [] as Arrival[], finished: [] as LineageRig['finished'], errors: ERRORS };
  Object.assign(globalThis, { [Symbol.for('sluice.test.lineage')]: seen });
  let records = 0;
  return {
    nodeRed,
    lineage,
    late,
    faults,
    arrived: seen.arrived,
    finished: seen.finished,
    fire(source, msg = { payload: 'p', topic: 't' }, options = {}) {
      const id = `record-${++records}`;
      return lineage.send(nodeRed.node(source), msg, {
        stamp: { id, source, receivedAt: 1, attempt: 1 },
        origin: id,
        timeoutMs: 4000,
        ...options,
      });
    },
    async stop() {
      lineage.uninstall();
      await nodeRed.stop();
    },
  };
}

/** A tab with nodes given as `[id, type, properties]`; ids and wire targets get the tab's id as a prefix. */
export function tab(id: string, nodes: readonly TabNode[]): FlowNode[] {
  return [{ id, type: 'tab', label: id }, ...nodes.map((node) => onTab(id, node))];
}

export type TabNode = readonly [
  id: string,
  type: string,
  targets: string | readonly (readonly string[])[],
  properties?: object,
];

/** `'a b'` wires the first output to a and b. */
function onTab(z: string, [id, type, targets, properties]: TabNode): FlowNode {
  const ports = typeof targets === 'string' ? (targets === '' ? [] : [targets.split(' ')]) : targets;
  const wires = ports.map((port) => port.map((target) => `${z}.${target}`));
  return { id: `${z}.${id}`, type, z, x: 1, y: 1, wires, ...properties };
}
