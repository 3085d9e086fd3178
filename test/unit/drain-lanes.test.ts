import { describe, expect, it } from 'vitest';
import { HELD, type LeasedRecord } from '#lib/queue/contract';
import { DrainLanes } from '#lib/queue/drain-lanes';

const lease = (seq: number): LeasedRecord => ({
  ...{ seq, attempts: 0, unknowns: 0, crashes: 0, storedAt: 0 },
  record: new Uint8Array(1),
});
const done = (seq: number) => ({ seq, outcome: 'done' }) as const;

/** A lane whose first record is through, with 2 and 3 being fetched, and 2 given out meanwhile since its time had come. */
function overtaken() {
  const lanes = new DrainLanes('key', () => 'a', 8);
  const [first, second, third] = [lease(1), lease(2), lease(3)];
  for (const { seq, record } of [first, second, third]) {
    lanes.found({ seq, dueAt: seq === 1 ? 0 : HELD, record });
  }
  lanes.admit(first);
  lanes.ended(first, done(1));
  expect(lanes.toRecall).toEqual([[2, 3]]);
  expect(lanes.admit(second)).toEqual({ ready: second });
  return { lanes, second, third };
}

describe('records of a key that are fetched while their first goes out by itself', () => {
  it('N16 wait until that one is through', () => {
    const { lanes, second, third } = overtaken();
    expect(lanes.recalled([2, 3], { leased: [third], later: [] })).toEqual({});
    expect(lanes.ended(second, done(2))).toEqual({ ready: third });
  });

  it('N16 go out when it is through already, and are not held for nobody', () => {
    const { lanes, second, third } = overtaken();
    lanes.ended(second, done(2));
    expect(lanes.recalled([2, 3], { leased: [third], later: [] })).toMatchObject({ ready: third, hold: [] });
  });
});
