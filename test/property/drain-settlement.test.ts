import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Verdict } from '#lib/delivery/verdict';
import { isRefusal, settlementFor, type RetryPolicy } from '#lib/queue/drain-settlement';

const policies: fc.Arbitrary<RetryPolicy> = fc
  .record({
    maxAttempts: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 20 })),
    maxUnknown: fc.integer({ min: 1, max: 10 }),
    retryInitialMs: fc.integer({ min: 1, max: 10_000 }),
    factor: fc.integer({ min: 1, max: 100 }),
  })
  .map(({ factor, ...policy }) => ({ ...policy, retryMaxMs: policy.retryInitialMs * factor }));
const leases = fc.record({
  seq: fc.integer({ min: 1 }),
  attempts: fc.nat({ max: 10_000 }),
  unknowns: fc.nat({ max: 20 }),
});
const codes = fc.constantFrom('ECONNRESET', 'ERR_SLUICE_REST_BUSY', 'ERR_SLUICE_QUEUE_FULL');
const failures = fc
  .record({
    failure: fc.constantFrom('transient' as const, 'config' as const, 'permanent' as const),
    code: codes,
    retryAfterMs: fc.option(fc.nat({ max: 100_000 }), { nil: undefined }),
  })
  .map(({ failure, code, retryAfterMs }): Verdict => ({
    kind: 'failed',
    failure,
    error: Object.assign(new Error('no'), { code }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  }));
const verdicts: fc.Arbitrary<Verdict> = fc.oneof(
  fc.constant<Verdict>({ kind: 'done' }),
  fc.constant<Verdict>({ kind: 'aborted', reason: 'deploy' }),
  fc.constant<Verdict>({ kind: 'unknown', reason: 'timeout', open: [] }),
  failures,
);
const NOW = 1_700_000_000_000;
const randoms = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

const settle = (
  verdict: Verdict,
  lease: Parameters<typeof settlementFor>[1],
  policy: RetryPolicy,
  random: number,
) => settlementFor(verdict, lease, policy, NOW, () => random);

describe('settlementFor', () => {
  it('O1 deletes for done and for nothing else', () => {
    fc.assert(
      fc.property(verdicts, leases, policies, randoms, (verdict, lease, policy, random) => {
        const settlement = settle(verdict, lease, policy, random);
        expect(settlement.seq).toBe(lease.seq);
        expect(settlement.outcome === 'done').toBe(verdict.kind === 'done');
      }),
    );
  });

  it('bounds every delay by the longest one, or by what the destination asked for', () => {
    fc.assert(
      fc.property(verdicts, leases, policies, randoms, (verdict, lease, policy, random) => {
        const settlement = settle(verdict, lease, policy, random);
        if (settlement.outcome !== 'retry') return;
        const asked = (!isRefusal(verdict) && verdict.kind === 'failed' && verdict.retryAfterMs) || 0;
        const delay = settlement.dueAt - NOW;
        expect(delay).toBeGreaterThanOrEqual(asked);
        expect(delay).toBeLessThanOrEqual(Math.max(policy.retryMaxMs, asked + policy.retryInitialMs) + 1);
      }),
    );
  });

  it('never makes a record dead for a wrong destination, a refusal or an interruption', () => {
    const kept = verdicts.filter(
      (verdict) =>
        verdict.kind === 'aborted' ||
        (verdict.kind === 'failed' &&
          (verdict.failure === 'config' ||
            (verdict.failure === 'transient' &&
              'code' in verdict.error &&
              verdict.error.code === 'ERR_SLUICE_QUEUE_FULL'))),
    );
    fc.assert(
      fc.property(kept, leases, policies, randoms, (verdict, lease, policy, random) => {
        expect(settle(verdict, lease, policy, random).outcome).toBe('retry');
      }),
    );
  });

  it('spends an attempt unless the record was refused, interrupted, or attempts are bounded and the destination is wrong', () => {
    fc.assert(
      fc.property(verdicts, leases, policies, randoms, (verdict, lease, policy, random) => {
        const settlement = settle(verdict, lease, policy, random);
        if (settlement.outcome !== 'retry') return;
        const refused =
          verdict.kind === 'failed' &&
          verdict.failure === 'transient' &&
          'code' in verdict.error &&
          verdict.error.code === 'ERR_SLUICE_QUEUE_FULL';
        const free =
          verdict.kind === 'aborted' ||
          refused ||
          (verdict.kind === 'failed' && verdict.failure === 'config' && policy.maxAttempts > 0);
        expect(settlement.spend).toBe(!free);
        expect(settlement.unknown).toBe(verdict.kind === 'unknown');
      }),
    );
  });

  it('tries transient failures for ever unless attempts are bounded, and exactly as often as allowed', () => {
    fc.assert(
      fc.property(leases, policies, randoms, (lease, policy, random) => {
        const verdict: Verdict = { kind: 'failed', failure: 'transient', error: new Error('no') };
        const dead = policy.maxAttempts > 0 && lease.attempts + 1 >= policy.maxAttempts;
        expect(settle(verdict, lease, policy, random).outcome).toBe(dead ? 'dead' : 'retry');
      }),
    );
  });

  it('gives up on unknown outcomes exactly at maxUnknown in a row', () => {
    fc.assert(
      fc.property(leases, policies, randoms, (lease, policy, random) => {
        const verdict: Verdict = { kind: 'unknown', reason: 'timeout', open: [] };
        const dead =
          lease.unknowns + 1 >= policy.maxUnknown ||
          (policy.maxAttempts > 0 && lease.attempts + 1 >= policy.maxAttempts);
        expect(settle(verdict, lease, policy, random).outcome).toBe(dead ? 'dead' : 'retry');
      }),
    );
  });
});
