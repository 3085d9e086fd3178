import { describe, expect, it } from 'vitest';
import { DONE, type Verdict } from '#lib/delivery/verdict';
import { DrainPace } from '#lib/queue/drain-pace';

const FAILED: Verdict = { kind: 'failed', failure: 'transient', error: new Error('refused') };

describe('the pace of a drain', () => {
  it('asks a dead destination with one record at a time, once a second', () => {
    const pace = new DrainPace(256, 5000);
    for (let failure = 0; failure < 15; failure += 1) pace.note(FAILED, 0);
    expect([pace.window, pace.waitMs(0)]).toEqual([256, 0]);
    pace.note(FAILED, 100);
    expect([pace.window, pace.waitMs(100)]).toEqual([1, 1000]);
    pace.note(FAILED, 1200);
    expect([pace.window, pace.waitMs(1200)]).toEqual([1, 1000]);
  });

  it('opens up again with each success, twice as far', () => {
    const pace = new DrainPace(10, 1000);
    for (let failure = 0; failure < 16; failure += 1) pace.note(FAILED, 0);
    const windows = [1, 2, 3, 4, 5].map(() => {
      pace.note(DONE, 0);
      return pace.window;
    });
    expect(windows).toEqual([2, 4, 8, 10, 10]);
  });

  it('is not slowed by a destination that fails now and then', () => {
    const pace = new DrainPace(64, 1000);
    for (let round = 0; round < 100; round += 1) {
      pace.note(FAILED, 0);
      if (round % 4 === 0) pace.note(DONE, 0);
    }
    expect([pace.window, pace.waitMs(0)]).toEqual([64, 0]);
  });

  it('forgets a dead destination at a deploy', () => {
    const pace = new DrainPace(64, 1000);
    for (let failure = 0; failure < 16; failure += 1) pace.note(FAILED, 0);
    pace.reset();
    expect([pace.window, pace.waitMs(0)]).toEqual([64, 0]);
  });

  it('makes nobody wait for a clock that was set back', () => {
    const pace = new DrainPace(10, 1000);
    pace.note({ kind: 'aborted', reason: 'deploy' }, 3_600_000);
    expect(pace.waitMs(3_600_400)).toBe(600);
    expect(pace.waitMs(400)).toBe(0);
  });
});
