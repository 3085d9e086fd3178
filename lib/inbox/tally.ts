import { newTally, type Tally } from '../delivery/ledger';
import type { Inbox } from './contract';

const tallies = new WeakMap<Inbox, Map<string, Tally>>();

/** The ledger's counters of one source, from when it first used this inbox; what was pending then is carried over. */
export function tallyOf(inbox: Inbox, source: string): Tally {
  const bySource = tallies.get(inbox) ?? new Map<string, Tally>();
  tallies.set(inbox, bySource);
  const known = bySource.get(source) ?? newTally(inbox.countsOf(source).pending);
  bySource.set(source, known);
  return known;
}
