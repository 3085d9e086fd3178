import type { FlowNode } from './node-red';

/** A `push-queue` that nothing drains, unless it is wired. */
export function queue(id: string, properties: Record<string, unknown> = {}): FlowNode {
  return {
    id,
    type: 'push-queue',
    z: 'tab',
    queue: id,
    onFull: 'block',
    maxQuotaMb: 1,
    wires: [[], []],
    ...properties,
  };
}

/** Quota of `bytes` in the unit of the saved property. */
export const megabytes = (bytes: number) => bytes / 1024 / 1024;
