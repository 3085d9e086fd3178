import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Quota } from '#lib/quota/quota';

const steps = fc.array(
  fc.record({
    do: fc.constantFrom('reserve', 'hold', 'free', 'release', 'releaseTwice'),
    amount: fc.integer({ min: 0, max: 150 }),
    pick: fc.nat(30),
  }),
  { maxLength: 60 },
);

describe('Quota', () => {
  it('O13 refuses what does not fit, before anything is written', () => {
    const quota = new Quota(100);
    expect(quota.reserve(60)).toBe(true);
    expect(quota.reserve(41)).toBe(false);
    expect(quota.used).toBe(60);
    expect(quota.reserve(40)).toBe(true);
    expect(quota.canTake(1)).toBe(false);
  });

  it('O14 admits a record larger than the quota when nothing is used nor held', () => {
    const quota = new Quota(100);
    expect(quota.reserve(5000)).toBe(true);
    expect(quota.canTake(1)).toBe(false);
    quota.free(5000);
    const hold = quota.hold(1);
    expect(quota.canTake(5000)).toBe(false);
    hold.release();
    expect(quota.canTake(5000)).toBe(true);
  });

  it('O13 counts what was admitted at the door until it is released, once', () => {
    const quota = new Quota(100);
    quota.take(10);
    const hold = quota.hold(50);
    expect(quota.canTake(41)).toBe(false);
    hold.release();
    hold.release();
    expect(quota.held).toBe(0);
    expect(quota.canTake(90)).toBe(true);
  });

  it('takes what is exempt beyond the limit, and then refuses until it is freed', () => {
    const quota = new Quota(10);
    quota.take(25);
    expect(quota.reserve(1)).toBe(false);
    quota.free(20);
    expect(quota.reserve(5)).toBe(true);
    quota.limit = 5;
    expect(quota.canTake(1)).toBe(false);
  });

  it('O13 never overshoots and always returns to zero, whatever the order', () => {
    fc.assert(
      fc.property(steps, (list) => {
        const quota = new Quota(300);
        const reserved: number[] = [];
        const holds: { amount: number; release(): void }[] = [];
        for (const step of list) {
          if (step.do === 'reserve') {
            const before = quota.used + quota.held;
            if (quota.reserve(step.amount)) {
              reserved.push(step.amount);
              expect(before === 0 || quota.used + quota.held <= 300).toBe(true);
            } else expect(before + step.amount).toBeGreaterThan(300);
          } else if (step.do === 'hold') {
            holds.push({ amount: step.amount, ...quota.hold(step.amount) });
          } else if (step.do === 'free') {
            quota.free(reserved.splice(step.pick % (reserved.length || 1), 1)[0] ?? 0);
          } else {
            const [hold] = holds.splice(step.pick % (holds.length || 1), 1);
            hold?.release();
            if (step.do === 'releaseTwice') hold?.release();
          }
          expect(quota.used).toBe(reserved.reduce((sum, amount) => sum + amount, 0));
          expect(quota.held).toBe(holds.reduce((sum, { amount }) => sum + amount, 0));
        }
        for (const amount of reserved) quota.free(amount);
        for (const hold of holds) hold.release();
        expect(quota.used + quota.held).toBe(0);
      }),
    );
  });
});
