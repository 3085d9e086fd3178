import type { Hold, Sink } from './contract';

/** Seconds after which to come back where no sink is to blame: deploying, timed out, aborted. */
export const FLOW_RETRY_SECS = 5;

/** Why an origin must keep its record. */
export interface Refusal {
  readonly admitted: false;
  /** Name of the sink that can't take it, or `flow` where no sink is to blame. */
  readonly sink: string;
  readonly retryAfterSecs: number;
  /** A rule on the way is stopped by an error, until someone starts it again. */
  readonly stopped?: true;
}

export interface Admitted {
  readonly admitted: true;
  /** Room reserved for the record, by sink id. */
  readonly holds: ReadonlyMap<string, Hold>;
}

export type Admission = Admitted | Refusal;

export function refuse(sink: string, retryAfterSecs: number): Refusal {
  return { admitted: false, sink, retryAfterSecs };
}

/** Somebody has to look first, so there is no hurry to come back. */
const STOPPED_RETRY_SECS = 30;

export const ruleStopped: Refusal = { ...refuse('rule', STOPPED_RETRY_SECS), stopped: true };

/**
 * Admits a record to all sinks it can reach, or to none: storing it in one and refusing it for another would
 * duplicate it at the first with every retry. Synchronous, so a burst can't slip between the question and the hold.
 */
export function admitTo(sinks: readonly Sink[], bytes: number, records: number): Admission {
  for (const sink of sinks) {
    if (sink.canTake(bytes, records)) continue;
    sink.countBlocked(records);
    return refuse(sink.name, sink.retryAfterSecs());
  }
  const holds = new Map<string, Hold>();
  for (const sink of sinks) holds.set(sink.id, sink.hold(bytes, records));
  return { admitted: true, holds };
}
