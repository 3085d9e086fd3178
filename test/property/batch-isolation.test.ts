import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Isolation } from '#lib/batch/isolation';

type Hint = (part: readonly number[]) => number | undefined;

/** Runs an isolation against a destination that refuses any part with a bad row in it. */
function isolate(size: number, bad: ReadonlySet<number>, hint: Hint = () => undefined) {
  const isolation = new Isolation(Array.from({ length: size }, (_, index) => index));
  const stored: number[] = [];
  const refused: number[] = [];
  let inserts = 0;
  for (let part = isolation.next(); part; part = isolation.next()) {
    inserts += 1;
    if (part.some((row) => bad.has(row))) {
      const faulty = isolation.refused(hint(part));
      if (faulty !== undefined) refused.push(faulty);
    } else {
      stored.push(...part);
      isolation.stored();
    }
  }
  const ascending = (rows: number[]) => rows.sort((a, b) => a - b);
  return { stored: ascending(stored), refused: ascending(refused), inserts };
}

const batches = fc.integer({ min: 1, max: 300 }).chain((size) =>
  fc.record({
    size: fc.constant(size),
    bad: fc.uniqueArray(fc.nat(size - 1), { maxLength: Math.min(size, 12) }),
  }),
);
const hints: fc.Arbitrary<(bad: ReadonlySet<number>) => Hint> = fc.oneof(
  fc.constant(() => () => undefined),
  fc.constant(
    (bad: ReadonlySet<number>) => (part: readonly number[]) => part.findIndex((row) => bad.has(row)),
  ),
  fc.nat().map((lie) => () => (part: readonly number[]) => lie % part.length),
);

describe('N2 isolation of the rows at fault', () => {
  it('N2 stores every good row once, names every bad one, within 2 k log2(n) + 2 inserts', () => {
    fc.assert(
      fc.property(batches, hints, ({ size, bad }, hintFor) => {
        const faulty = new Set(bad);
        const { stored, refused, inserts } = isolate(size, faulty, hintFor(faulty));
        expect(refused).toEqual([...faulty].sort((a, b) => a - b));
        expect(stored).toEqual(
          Array.from({ length: size }, (_, row) => row).filter((row) => !faulty.has(row)),
        );
        if (bad.length > 0) expect(inserts).toBeLessThanOrEqual(2 * bad.length * Math.log2(size) + 2);
        else expect(inserts).toBe(1);
      }),
      { numRuns: 3000 },
    );
  });

  it('N2 finds one bad row in 1,000 with 22 inserts at most, wherever it is', () => {
    const counts = Array.from({ length: 1000 }, (_, row) => isolate(1000, new Set([row])).inserts);
    expect(Math.max(...counts)).toBeLessThanOrEqual(22);
  });

  it('N2 needs three inserts where the destination points at the row', () => {
    expect(isolate(1000, new Set([617]), (part) => part.indexOf(617)).inserts).toBe(3);
  });

  it('stores rows that are refused only together, such as two of one key', () => {
    const isolation = new Isolation(['a', 'b', 'a2', 'c']);
    const stored: string[] = [];
    for (let part = isolation.next(); part; part = isolation.next()) {
      if (part.includes('a') && part.includes('a2')) isolation.refused();
      else {
        stored.push(...part);
        isolation.stored();
      }
    }
    expect(stored.sort()).toEqual(['a', 'a2', 'b', 'c']);
  });

  it('gives the same part again until its outcome is told, and knows what has none yet', () => {
    const isolation = new Isolation([1, 2, 3, 4]);
    expect(isolation.next()).toBe(isolation.next());
    isolation.refused();
    expect(isolation.next()).toEqual([1, 2]);
    expect(isolation.rest()).toEqual([1, 2, 3, 4]);
    isolation.without(new Set([2]));
    expect(isolation.next()).toEqual([1]);
    isolation.stored();
    expect(isolation.rest()).toEqual([3, 4]);
  });
});
