/** What becomes of an accepted row after a delivery. Pure: `random` is uniform in [0, 1). */
import { nextDelayMs } from '../delivery/retry';
import type { Verdict } from '../delivery/verdict';
import { isRefusal } from '../queue/drain-settlement';

const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 60_000;
const ROOM_CHECK_MS = 500;
/** Nobody took it: only a deploy changes that, and then the flow looks at once. */
const UNROUTED_CHECK_MS = 10_000;

export type Fate =
  | { readonly kind: 'handled' }
  /** `failed`: it counts against the tries a record has. */
  | { readonly kind: 'again'; readonly delayMs: number; readonly failed: boolean }
  | { readonly kind: 'parked'; readonly code: string; readonly reason: string };

/** `failures` before this one; `retries` is how often a transient failure is tried again. */
export function fateOf(verdict: Verdict, failures: number, retries: number, random: () => number): Fate {
  if (verdict.kind === 'done') return { kind: 'handled' };
  if (verdict.kind === 'aborted') return { kind: 'again', delayMs: UNROUTED_CHECK_MS, failed: false };
  // A sink without room hasn't tried it: waiting costs nothing here.
  if (isRefusal(verdict)) return { kind: 'again', delayMs: ROOM_CHECK_MS, failed: false };
  // A wrong address or an expired token says nothing about the record: it is kept until someone mends that.
  const config = verdict.kind === 'failed' && verdict.failure === 'config';
  const permanent = verdict.kind === 'failed' && verdict.failure === 'permanent';
  if (!config && (permanent || failures >= retries)) return parked(verdict);
  const delayMs = nextDelayMs({
    attempt: failures + 1,
    initialMs: FIRST_RETRY_MS,
    maxMs: LONGEST_RETRY_MS,
    random,
    retryAfterMs: verdict.kind === 'failed' ? verdict.retryAfterMs : undefined,
  });
  return { kind: 'again', delayMs, failed: true };
}

function parked(verdict: Exclude<Verdict, { kind: 'done' | 'aborted' }>): Fate {
  if (verdict.kind === 'unknown') {
    return { kind: 'parked', code: 'ERR_SLUICE_DELIVERY_TIMEOUT', reason: verdict.reason };
  }
  const { error } = verdict;
  const code = 'code' in error ? String(error.code) : 'ERR_SLUICE_DELIVERY_FAILED';
  return { kind: 'parked', code, reason: error.message };
}
