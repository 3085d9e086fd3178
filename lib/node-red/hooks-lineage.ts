import type { LineageDeps } from '../delivery/lineage/lineage';
import type { NodeRED } from './types';

/** What the lineage needs of a Node-RED runtime. One lineage serves the whole runtime. */
export function lineageDepsOf(RED: NodeRED): LineageDeps {
  return {
    hooks: RED.hooks,
    events: RED.events,
    getNode: (id) => RED.nodes.getNode(id),
    generateId: () => RED.util.generateId(),
    onFault: (fault) =>
      RED.log.error(`sluice lineage: ${fault instanceof Error ? fault.stack : String(fault)}`),
  };
}
