import { describe, expect, it } from 'vitest';
import { FlowRate, secsToFull } from '#lib/queue/flow-rate';

describe('FlowRate', () => {
  it('N10 measures the last 30 seconds, and forgets what is older', () => {
    let now = 0;
    const rate = new FlowRate(() => now);
    for (let second = 0; second < 60; second += 1) {
      now = second * 1000;
      rate.add(500);
    }
    expect(rate.bytesPerSec()).toBeCloseTo(500, 0);
    now += 15_000;
    expect(rate.bytesPerSec()).toBeCloseTo(250, 0);
    now += 60_000;
    expect(rate.bytesPerSec()).toBe(0);
  });

  it('starts anew when the clock is set back', () => {
    let now = 7_200_000;
    const rate = new FlowRate(() => now);
    rate.add(1_000_000);
    now -= 3_600_000;
    for (let second = 0; second < 10; second += 1) {
      now += 1000;
      rate.add(500);
    }
    expect(rate.bytesPerSec()).toBeCloseTo(5000 / 9, 0);
  });

  it('doesn’t take a burst in its first moment for a rate', () => {
    const rate = new FlowRate(() => 5);
    rate.add(1000);
    expect(rate.bytesPerSec()).toBe(1000);
  });
});

describe('secsToFull', () => {
  it('N6 is room over what comes in more than goes out', () => {
    expect(secsToFull(1_000_000, 3000, 1000)).toBe(500);
    expect(secsToFull(0, 3000, 1000)).toBe(0);
    expect(secsToFull(-5, 0, 0)).toBe(0);
  });

  it('N6 is nothing while the queue empties or stands still', () => {
    expect(secsToFull(1000, 100, 100)).toBeUndefined();
    expect(secsToFull(1000, 100, 200)).toBeUndefined();
  });
});
