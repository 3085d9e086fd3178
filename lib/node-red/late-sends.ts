import type { AlertPlace } from '../alert/alert-place';
import type { LateEvent } from '../delivery/lineage/runtime-lineage';
import type { RuntimeNode } from './types';

interface LateSendDeps {
  readonly sourceName: (id: string) => string | undefined;
  readonly getNode: (id: string) => RuntimeNode | null;
  /** Counts one for the metrics, by the source's name. */
  readonly count: (source: string) => void;
  /** Where the source tells of itself; what has no live source is told for the runtime as a whole. */
  readonly placeOf: (sourceId: string) => AlertPlace;
}

/**
 * Counts signs of life after `done`, and alerts: the origin has been told to forget the record, so nobody waits for what
 * comes late.
 */
export function lateSendReporter(deps: LateSendDeps): (event: LateEvent) => void {
  return ({ what, nodeId, sourceId, recordId }) => {
    const source = deps.sourceName(sourceId) ?? sourceId;
    deps.count(source);
    const node = deps.getNode(nodeId);
    const named = node ? `${node.type} "${node.name || nodeId}" (${nodeId})` : nodeId;
    const did = what === 'send' ? 'sent something on' : 'reported an error';
    deps
      .placeOf(sourceId)
      .happened(
        'late',
        nodeId,
        `${named} ${did} for record ${recordId} of "${source}" after it was done: ` +
          'the node has to call done() after its last send, or its records can be lost unseen',
      );
  };
}
