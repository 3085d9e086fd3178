import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_RETRY_AFTER_MS, nextDelayMs, readRetryAfter, retryAfterSecs } from '#lib/delivery/retry';

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

describe('retryAfterSecs', () => {
  it('rounds up to whole seconds and never says 0', () => {
    expect([0, 1, 999, 1000, 1001, 59_999].map(retryAfterSecs)).toEqual([1, 1, 1, 1, 2, 60]);
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
