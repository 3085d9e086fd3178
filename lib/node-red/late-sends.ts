import type { LateEvent } from '../delivery/lineage/runtime-lineage';
import type { RuntimeNode } from './types';

const LOG_EVERY_MS = 10_000;
/** A flow has a bounded number of nodes, but deploys make new ones. */
const MAX_PLACES = 1000;

interface LateSendDeps {
  readonly sourceName: (id: string) => string | undefined;
  readonly getNode: (id: string) => RuntimeNode | null;
  /** Counts one for the metrics, by the source's name. */
  readonly count: (source: string) => void;
  readonly warn: (text: string) => void;
  readonly now: () => number;
}

/**
 * Counts signs of life after `done`, and warns of them: the origin has been told to forget the record, so what comes
 * late is waited for by nobody. At most one line in ten seconds for each source and node.
 */
export function lateSendReporter(deps: LateSendDeps): (event: LateEvent) => void {
  const places = new Map<string, { loggedAt: number; unlogged: number }>();
  return ({ what, nodeId, sourceId, recordId }) => {
    const source = deps.sourceName(sourceId) ?? sourceId;
    deps.count(source);
    const key = `${sourceId} ${nodeId}`;
    const place = places.get(key) ?? { loggedAt: -Infinity, unlogged: 0 };
    place.unlogged += 1;
    if (places.size >= MAX_PLACES && !places.has(key)) places.clear();
    places.set(key, place);
    const now = deps.now();
    if (now - place.loggedAt < LOG_EVERY_MS) return;
    const node = deps.getNode(nodeId);
    const named = node ? `${node.type} "${node.name || nodeId}" (${nodeId})` : nodeId;
    const times = place.unlogged > 1 ? `, ${place.unlogged} times` : '';
    const did = what === 'send' ? 'sent something on' : 'reported an error';
    deps.warn(
      `${named} ${did}${times} for a record of "${source}" that was done already (the last is ${recordId}): ` +
        'it has to call done() after its last send, or its records can be lost unseen',
    );
    place.loggedAt = now;
    place.unlogged = 0;
  };
}
