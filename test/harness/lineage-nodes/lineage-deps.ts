import type { LineageDeps } from '#lib/delivery/lineage/runtime-lineage';
import type { NodeRED } from '#lib/node-red/types';

/** What a lineage of a test's own needs of a Node-RED; `onFault` fails loudly. */
export function lineageDepsOf(RED: NodeRED): LineageDeps {
  return {
    hooks: RED.hooks,
    events: RED.events,
    getNode: (id) => RED.nodes.getNode(id),
    generateId: () => RED.util.generateId(),
    onFault(fault) {
      throw fault;
    },
  };
}
