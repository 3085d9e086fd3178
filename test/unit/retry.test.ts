import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_RETRY_AFTER_MS, nextDelayMs, readRetryAfter, refusalRetrySecs } from '#lib/delivery/retry';

const backoff = { initialMs: 1000, maxMs: 60_000, random: () => 0.5 };

describe('nextDelayMs', () => {
  it('doubles from the initial delay up to the largest', () => {
    const delays = [1, 2, 3, 6, 7, 8, 2000].map((attempt) =>
      nextDelayMs({ ...backoff, attempt, random: () => 1 - Number.EPSILON }),
    );
    expect(delays).toEqual([1000, 2000, 4000, 32_000, 60_000, 60_000, 60_000]);
  });

  it('stays within its documented range for any input', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5000 }),
        fc.integer({ min: 1, max: 10_000 }),
        fc.integer({ min: 10_000, max: 3_600_000 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (attempt, initialMs, maxMs, fraction) => {
          const step = Math.min(maxMs, initialMs * 2 ** (attempt - 1));
          const delay = nextDelayMs({ attempt, initialMs, maxMs, random: () => fraction });
          expect(delay).toBeGreaterThanOrEqual(Math.floor(step / 2));
          expect(delay).toBeLessThanOrEqual(step);
        },
      ),
    );
  });

  it('never comes back earlier than the destination asked, and spreads by the initial delay', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 10 * MAX_RETRY_AFTER_MS }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (retryAfterMs, fraction) => {
          const delay = nextDelayMs({ ...backoff, attempt: 1, random: () => fraction, retryAfterMs });
          expect(delay).toBeGreaterThanOrEqual(Math.min(retryAfterMs, MAX_RETRY_AFTER_MS));
          expect(delay).toBeLessThanOrEqual(Math.min(retryAfterMs, MAX_RETRY_AFTER_MS) + backoff.initialMs);
        },
      ),
    );
  });
});

describe('readRetryAfter', () => {
  const now = Date.UTC(2025, 0, 1, 12, 0, 0);
  it.each([
    ['120', 120_000],
    [' 0 ', 0],
    ['99999999999', MAX_RETRY_AFTER_MS],
    ['Wed, 01 Jan 2025 12:00:30 GMT', 30_000],
    ['Wednesday, 01-Jan-25 12:00:30 GMT', 30_000],
    ['Wed Jan  1 12:00:30 2025', 30_000],
    ['Wed, 01 Jan 2025 11:00:00 GMT', 0],
    ['Thu, 01 Jan 2099 12:00:00 GMT', MAX_RETRY_AFTER_MS],
    ['-5', undefined],
    ['1.5', undefined],
    ['soon', undefined],
    ['Wed, 99 Foo 2025 12:00:00 GMT', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('reads %j as %j ms', (header, expected) => {
    expect(readRetryAfter(header, now)).toBe(expected);
  });
});

describe('refusalRetrySecs', () => {
  it('N10 is the time the room takes to come free, up to a fifth and a second longer, within 1 to 300', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1e9, noNaN: true }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (ms, luck) => {
          const secs = refusalRetrySecs(ms, () => luck);
          expect(Number.isInteger(secs)).toBe(true);
          expect(secs).toBeGreaterThanOrEqual(Math.min(300, Math.max(1, ms / 1000)));
          expect(secs).toBeLessThanOrEqual(Math.min(300, Math.ceil((ms / 1000) * 1.2 + 1)));
        },
      ),
    );
  });

  it('N10 spreads origins that were refused together over a fifth of the wait', () => {
    const waits = Array.from({ length: 100 }, (_, index) => refusalRetrySecs(100_000, () => index / 100));
    expect([Math.min(...waits), Math.max(...waits)]).toEqual([100, 121]);
    expect(new Set(waits).size).toBeGreaterThan(15);
  });
});
