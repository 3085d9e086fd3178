import type { LeasedRecord, QueueStore } from './contract';
import type { DrainLanes } from './drain-lanes';

/**
 * What a closed drain leaves to the next one over the same store: leased records that aren't out, and the lanes they
 * wait in. Given back to the store they would lose their place. Without a next one the store closes and queues them.
 */
export interface Handover {
  readonly ready: LeasedRecord[];
  readonly lanes: DrainLanes | undefined;
  taken: boolean;
}

const handovers = new WeakMap<QueueStore, Handover>();

export function leave(store: QueueStore, ready: LeasedRecord[], lanes: DrainLanes | undefined): Handover {
  const handover: Handover = { ready, lanes, taken: false };
  handovers.set(store, handover);
  return handover;
}

export function takeOver(store: QueueStore): Handover | undefined {
  const handover = handovers.get(store);
  if (handover) handover.taken = true;
  handovers.delete(store);
  return handover;
}
