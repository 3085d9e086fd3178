import { nextDelayMs } from '../delivery/retry';
import type { Verdict } from '../delivery/verdict';
import { DeliveryError } from '../errors/errors';
import type { LeasedRecord, Settlement } from './contract';

export interface RetryPolicy {
  /** Deliveries before a record is dead; 0: transient failures are tried for ever. */
  readonly maxAttempts: number;
  /** Unknown outcomes in a row before a record is dead. */
  readonly maxUnknown: number;
  readonly retryInitialMs: number;
  readonly retryMaxMs: number;
}

type Lease = Pick<LeasedRecord, 'seq' | 'attempts' | 'unknowns'>;

/** A sink without room for the record: its code ends like ours, `ERR_SLUICE_…_FULL`. The record wasn't tried. */
export function isRefusal(verdict: Verdict): boolean {
  return (
    verdict.kind === 'failed' && verdict.failure === 'transient' && /_FULL$/.test(codeOf(verdict.error) ?? '')
  );
}

/**
 * What becomes of a leased record after a delivery. Pure: `now` is Unix ms, `random` uniform in [0, 1).
 *
 * Only `done` deletes. An interrupted record is due at once and a refused one soon, at no attempt. A wrong destination
 * (`config`) never makes a record dead; with bounded attempts it spends none either, or the first ordinary failure
 * after the repair would empty the queue into the dead letters. It then waits the longest delay.
 */
export function settlementFor(
  verdict: Verdict,
  lease: Lease,
  policy: RetryPolicy,
  now: number,
  random: () => number,
): Settlement {
  const { seq } = lease;
  const delay = (attempt: number, retryAfterMs?: number) =>
    nextDelayMs({
      attempt,
      initialMs: policy.retryInitialMs,
      maxMs: policy.retryMaxMs,
      random,
      retryAfterMs,
    });
  const retry = (delayMs: number, spend: boolean, unknown = false): Settlement => ({
    seq,
    outcome: 'retry',
    dueAt: now + delayMs,
    spend,
    unknown,
  });
  const attempt = lease.attempts + 1;
  const exhausted = policy.maxAttempts > 0 && attempt >= policy.maxAttempts;
  const givenUp = (why: string): Settlement => ({
    seq,
    outcome: 'dead',
    code: 'ERR_SLUICE_QUEUE_ATTEMPTS_SPENT',
    reason: `gave up after ${attempt} deliveries: ${why}`,
  });

  switch (verdict.kind) {
    case 'done':
      return { seq, outcome: 'done' };
    case 'aborted':
      return retry(0, false);
    case 'unknown':
      if (lease.unknowns + 1 >= policy.maxUnknown) {
        const reason = `no known outcome ${lease.unknowns + 1} times in a row: ${verdict.reason}`;
        return { seq, outcome: 'dead', code: 'ERR_SLUICE_QUEUE_OUTCOME_UNKNOWN', reason };
      }
      return exhausted ? givenUp(verdict.reason) : retry(delay(attempt), true, true);
    case 'failed':
      // Its Retry-After is for origins far away; here asking again costs little.
      if (isRefusal(verdict)) return retry(delay(1), false);
      if (verdict.failure === 'permanent') {
        const code = codeOf(verdict.error) ?? 'ERR_SLUICE_QUEUE_REJECTED';
        return { seq, outcome: 'dead', code, reason: verdict.error.message };
      }
      if (verdict.failure === 'config') {
        const spend = policy.maxAttempts === 0;
        return retry(delay(spend ? attempt : Number.MAX_SAFE_INTEGER, verdict.retryAfterMs), spend);
      }
      return exhausted ? givenUp(verdict.error.message) : retry(delay(attempt, verdict.retryAfterMs), true);
  }
}

/** Verdict on a record that was out each time the process ended: sending it again would go on for ever. */
export function endedTheProcess({ crashes }: LeasedRecord): Verdict {
  const text = `Node-RED ended ${crashes} times in a row while this record was being delivered`;
  const error = new DeliveryError('ERR_SLUICE_QUEUE_CRASHES', text, { failure: 'permanent' });
  return { kind: 'failed', failure: 'permanent', error };
}

function codeOf(error: Error): string | undefined {
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
