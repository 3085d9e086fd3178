import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KnownVerdict } from '#lib/inbox/contract';
import { digestOf, encodeEntry, keyWordsOf, minuteOf } from '#lib/inbox/settled-entry';
import { SettledTable } from '#lib/inbox/settled-table';

const MINUTE_MS = 60_000;
const START = 1_790_000_040_000;

interface Step {
  readonly key: number;
  readonly verdict: 'done' | 'rejected';
  readonly liveMinutes: number;
  readonly pauseMinutes: number;
}
const step: fc.Arbitrary<Step> = fc.record({
  key: fc.nat(2000),
  verdict: fc.constantFrom('done', 'rejected'),
  liveMinutes: fc.integer({ min: 1, max: 500 }),
  pauseMinutes: fc.constantFrom(0, 0, 0, 0, 1, 30),
});

const read = (table: SettledTable, key: number, now: number) =>
  table.get(keyWordsOf('source', `key ${key}`), minuteOf(now));

describe('the table of remembered verdicts', () => {
  it('answers as a map with expiry would, however often it grows', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 4000, size: 'max' }), (steps) => {
        const table = new SettledTable(1_000_000);
        const model = new Map<number, KnownVerdict & { expiresAt: number }>();
        let now = START;
        for (const { key, verdict, liveMinutes, pauseMinutes } of steps) {
          now += pauseMinutes * MINUTE_MS;
          const digest = digestOf(Buffer.from(String(key % 7)));
          const expiresAt = now + liveMinutes * MINUTE_MS;
          const settled = { source: 'source', key: `key ${key}`, digest, verdict, expiresAt };
          table.set(encodeEntry(settled), minuteOf(now));
          model.set(key, { digest, verdict, expiresAt });
        }
        for (let key = 0; key <= 2000; key += 1) {
          const known = model.get(key);
          const expected =
            known && known.expiresAt > now ? { digest: known.digest, verdict: known.verdict } : undefined;
          expect(read(table, key, now)).toEqual(expected);
        }
        expect(table.forgottenEarlyTotal).toBe(0);
      }),
      { numRuns: 30 },
    );
  });

  it('stays within its bound when it is split by key', () => {
    const table = new SettledTable(40_000);
    const digest = digestOf(Buffer.alloc(0));
    for (let key = 0; key < 100_000; key += 1) {
      const expiresAt = START + (1 + Math.floor(key / 100)) * MINUTE_MS;
      table.set(
        encodeEntry({ source: 'source', key: `key ${key}`, digest, verdict: 'done', expiresAt }),
        minuteOf(START),
      );
    }
    expect(table.size).toBeLessThanOrEqual(40_000);
    expect(table.size).toBeGreaterThan(30_000);
    expect(table.size + table.forgottenEarlyTotal).toBe(100_000);
    for (let key = 75_000; key < 100_000; key += 1) expect(read(table, key, START)).toBeDefined();
    expect(read(table, 0, START)).toBeUndefined();
    expect(table.forgottenBefore).toBeLessThan(minuteOf(START) + 1 + 750);
  });

  it('stays within its bound, and forgets before their time only those that expire soonest', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 200, maxLength: 600, size: 'max' }), (steps) => {
        const table = new SettledTable(150);
        const expiries = new Map<number, number>();
        for (const { key, verdict, liveMinutes } of steps) {
          const expiresAt = START + liveMinutes * MINUTE_MS;
          const digest = digestOf(Buffer.alloc(0));
          table.set(
            encodeEntry({ source: 'source', key: `key ${key}`, digest, verdict, expiresAt }),
            minuteOf(START),
          );
          expiries.set(key, minuteOf(expiresAt));
          expect(table.size).toBeLessThanOrEqual(150);
          expect(read(table, key, START)).toEqual({ digest, verdict });
        }
        const forgotten = [...expiries].filter(([key]) => !read(table, key, START));
        for (const [, minute] of forgotten) expect(minute).toBeLessThan(table.forgottenBefore);
      }),
      { numRuns: 30 },
    );
  });
});
