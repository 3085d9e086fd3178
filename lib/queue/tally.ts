import { newTally, type Tally } from '../delivery/ledger';
import type { QueueStore } from './contract';

interface StoreTally {
  readonly tally: Tally;
  /** The store's own total when counting began. */
  readonly evictedBefore: number;
}

const tallies = new WeakMap<QueueStore, StoreTally>();

/** The ledger's counters of a store, from when a queue first used it. A redeployed queue goes on with those of its predecessor. */
export function tallyOf(store: QueueStore): StoreTally {
  const { records, evictedTotal } = store.counts();
  const known = tallies.get(store) ?? { tally: newTally(records), evictedBefore: evictedTotal };
  tallies.set(store, known);
  return known;
}
