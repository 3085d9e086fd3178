import type { FlowConfigNode, NodeRED, RuntimeNode } from './types';

/**
 * Id of the tab that a place lies on. A node in a subflow has its instance as `z`; an instance within another one goes by
 * `<outer>-<inner>`, which no flow lists.
 */
function tabOf(z: string, configs: ReadonlyMap<string, FlowConfigNode>): string {
  const config = configs.get(z);
  if (config) return config.type === 'tab' || config.z === undefined ? config.id : tabOf(config.z, configs);
  const outer = z.lastIndexOf('-');
  return outer === -1 ? z : tabOf(z.slice(0, outer), configs);
}

/** Whether what fails on this node's tab is dropped: no live dlq node governs it, or one that says so. */
export function dropsWhatFails(RED: NodeRED, { z }: Pick<RuntimeNode, 'z'>): boolean {
  const configs = new Map<string, FlowConfigNode>();
  RED.nodes.eachNode((config) => configs.set(config.id, config));
  const tab = tabOf(z, configs);
  for (const { type, z: place, d: isDisabled, onError } of configs.values()) {
    if (type === 'dlq' && place === tab && isDisabled !== true) return onError === 'drop';
  }
  return true;
}
