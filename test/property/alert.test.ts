import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  checkAlert,
  INITIAL_ALERT,
  levelOf,
  type AlertState,
  type Level,
  type Notice,
} from '#lib/alert/levels';

const level = fc.constantFrom<Level>('ok', 'high', 'full');
const steps = fc.array(fc.record({ level, afterMs: fc.integer({ min: 1, max: 900_000 }) }), {
  maxLength: 200,
});
const REPEAT_MS = 600_000;

function run(given: readonly { level: Level; afterMs: number }[]) {
  let state: AlertState = INITIAL_ALERT;
  let at = 0;
  const seen: { at: number; before: Level; level: Level; notice: Notice | undefined }[] = [];
  for (const step of given) {
    at += step.afterMs;
    const before = state.level;
    const checked = checkAlert(state, step.level, at, REPEAT_MS);
    state = checked.state;
    seen.push({ at, before, level: step.level, notice: checked.notice });
  }
  return seen;
}

describe('levelOf', () => {
  it('O36 O37 is high from exactly 80 % and full from exactly the quota, without rounding', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2 ** 40 }),
        fc.integer({ min: 0, max: 2 ** 41 }),
        (limit, used) => {
          const share = (BigInt(used) * 100n) / BigInt(limit);
          const expected = share >= 100n ? 'full' : share >= 80n ? 'high' : 'ok';
          expect(levelOf({ used, limit, refusedOrEvictedSinceLastCheck: 0 })).toBe(expected);
        },
      ),
    );
  });

  it('O37 is full after a refusal or an eviction, however empty the queue is by then', () => {
    expect(levelOf({ used: 0, limit: 10, refusedOrEvictedSinceLastCheck: 1 })).toBe('full');
  });

  it('is always ok without a limit', () => {
    expect(levelOf({ used: 5e9, limit: 0, refusedOrEvictedSinceLastCheck: 4 })).toBe('ok');
  });
});

describe('checkAlert', () => {
  it('O39 gives a recovery exactly when a level other than ok ends in ok', () => {
    fc.assert(
      fc.property(steps, (given) => {
        for (const { before, level, notice } of run(given)) {
          if (level === 'ok') expect(notice !== undefined).toBe(before !== 'ok');
          else expect(notice?.level).not.toBe('ok');
        }
      }),
    );
  });

  it('O36 warns once on the way up and never on the way down', () => {
    fc.assert(
      fc.property(steps, (given) => {
        for (const { before, level, notice } of run(given)) {
          if (level === 'high') expect(notice !== undefined).toBe(before === 'ok');
        }
      }),
    );
  });

  it('O38 never leaves a full queue unannounced for longer than the repeat, nor announces it more often', () => {
    fc.assert(
      fc.property(steps, (given) => {
        let lastFullNotice = -Infinity;
        for (const { at, level, notice } of run(given)) {
          if (level === 'ok') lastFullNotice = -Infinity;
          if (level !== 'full') continue;
          expect(notice !== undefined).toBe(at - lastFullNotice >= REPEAT_MS);
          if (notice) lastFullNotice = at;
        }
      }),
    );
  });
});
