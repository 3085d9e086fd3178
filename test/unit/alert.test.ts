import { describe, expect, it } from 'vitest';
import { Alarm } from '#lib/alert/alarm';
import type { Level } from '#lib/alert/levels';
import cases from '../cases/alerts.json';

const SEVERITY: Record<Level, string> = { ok: 'info', high: 'warning', full: 'critical' };

describe('alert machine, real-world cases', () => {
  for (const { id, title, repeatSecs, limits, checks, notices, finalLevel } of cases) {
    it(`${id} ${title}`, () => {
      const queues = new Map(
        Object.entries(limits).map(([queue, limit]) => {
          const gauge = { used: 0, limit, refusedOrEvicted: 0 };
          return [queue, { gauge, alarm: new Alarm(() => gauge, repeatSecs * 1000) }];
        }),
      );
      const given: unknown[] = [];
      let level: Level = 'ok';
      for (const { atSecs, queue, used, refusedOrEvicted } of checks) {
        const { gauge, alarm } = queues.get(queue)!;
        gauge.used = used;
        gauge.refusedOrEvicted += refusedOrEvicted;
        ({ level } = alarm);
        const notice = alarm.check(atSecs * 1000);
        if (notice) given.push({ atSecs, queue, ...notice });
      }
      expect(given).toEqual(
        notices.map((notice) => ({ ...notice, severity: SEVERITY[notice.level as Level] })),
      );
      if (finalLevel) expect(level).toBe(finalLevel);
    });
  }
});

describe('Alarm', () => {
  it('is full while something was refused since the last check, and forgets it with the check', () => {
    const gauge = { used: 1, limit: 100, refusedOrEvicted: 3 };
    const alarm = new Alarm(() => gauge);
    expect(alarm.level).toBe('full');
    expect(alarm.level).toBe('full');
    expect(alarm.check(0)).toEqual({ level: 'full', severity: 'critical', repeat: false });
    expect(alarm.level).toBe('ok');
    expect(alarm.check(5000)).toEqual({ level: 'ok', severity: 'info', repeat: false });
  });
});
