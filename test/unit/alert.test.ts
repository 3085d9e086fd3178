import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Alarm } from '#lib/alert/alarm';
import { LOSS_REASONS } from '#lib/alert/losses';
import type { Level } from '#lib/alert/levels';
import { ALERT_KINDS } from '#lib/config/alert-kinds';
import { StoreError } from '#lib/errors/errors';
import { createMetrics } from '#lib/metrics/metrics';
import cases from '../cases/alerts.json';
import { alertsFor, translate } from '../harness/alerts';

const SEVERITY: Record<Level, string> = { ok: 'info', high: 'warning', full: 'critical' };

describe('O35 the alert centre, with real-world cases', () => {
  for (const { id, title, repeatSecs, limits, checks, notices, finalLevel } of cases) {
    it(`${id} ${title}`, () => {
      const alerts = alertsFor(undefined, { repeatMs: repeatSecs * 1000 });
      const queues = new Map(
        Object.entries(limits).map(([queue, limit]) => {
          const gauge = { used: 0, limit, refusedOrEvicted: 0 };
          const alarm = new Alarm(() => gauge);
          alerts.centre.place({ id: queue, name: queue, type: 'push-queue' }).watch(alarm, 'block');
          return [queue, { gauge, alarm }];
        }),
      );
      const given: unknown[] = [];
      let level: Level = 'ok';
      for (const { atSecs, queue, used, refusedOrEvicted } of checks) {
        const { gauge, alarm } = queues.get(queue)!;
        gauge.used = used;
        gauge.refusedOrEvicted += refusedOrEvicted;
        ({ level } = alarm);
        alerts.at(atSecs * 1000);
        alerts.centre.check();
        for (const told of alerts.told.splice(0)) {
          given.push({
            atSecs,
            queue: told.place.id,
            level: told.level,
            severity: told.severity,
            repeat: told.repeat,
          });
        }
      }
      expect(given).toEqual(
        notices.map((notice) => ({ ...notice, severity: SEVERITY[notice.level as Level] })),
      );
      if (finalLevel) expect(level).toBe(finalLevel);
    });
  }
});

const place = { id: 'q', name: 'orders', type: 'push-queue', z: 'tab' };

function queueOf(limit = 100) {
  const gauge = { used: 0, limit, refusedOrEvicted: 0 };
  return { gauge, alarm: new Alarm(() => gauge) };
}

describe('Alarm', () => {
  it('is full while something was refused since the last look, and forgets it with the look', () => {
    const alarm = new Alarm(() => ({ used: 1, limit: 100, refusedOrEvicted: 3 }));
    expect([alarm.level, alarm.level]).toEqual(['full', 'full']);
    expect(alarm.look()).toMatchObject({ refusedOrEvictedSinceLastCheck: 3 });
    expect(alarm.level).toBe('ok');
  });
});

describe('the alert centre', () => {
  it('O36 O37 O39 says in the words of the documents what a queue does, in log, metrics and alerts alike', async () => {
    const metrics = createMetrics();
    const { centre, log, told, at } = alertsFor(metrics);
    const { gauge, alarm } = queueOf();
    centre.place(place).watch(alarm, 'evict_oldest');
    gauge.used = 80;
    centre.check();
    Object.assign(gauge, { used: 99, refusedOrEvicted: 12 });
    at(5000);
    centre.check();
    gauge.used = 10;
    at(10_000);
    centre.check();
    expect(log).toEqual([
      'warning push-queue "orders" is at 80 % of its bound: the destination is slow or down',
      'critical push-queue "orders" is full: evicting the oldest records, data gap (12)',
      'info push-queue "orders" has room again: 10 % of its bound',
    ]);
    expect(told.map(({ text }) => text)).toEqual(log.map((line) => line.replace(/^\w+ /, '')));
    expect(told[1]).toMatchObject({
      kind: 'queue',
      what: 'evict_oldest',
      level: 'full',
      place,
      count: 12,
      values: { used: 99, limit: 100, fillPct: 99 },
      at: 1_700_000_005_000,
    });
    expect(await metrics.render()).toContain('sluice_alerts_total{level="full"} 1');
  });

  it('O35 doesn’t repeat itself after a redeploy, though the new queue looks empty while it opens', () => {
    const { centre, log, at } = alertsFor();
    const { gauge, alarm } = queueOf();
    const first = centre.place(place);
    first.watch(alarm, 'block');
    gauge.used = 100;
    centre.check();
    expect(log).toHaveLength(1);
    first.close();
    const second = centre.place({ ...place, name: 'renamed' });
    let isOpen = false;
    second.watch(new Alarm(() => (isOpen ? gauge : undefined)), 'block');
    centre.deployed();
    at(5000);
    centre.check();
    isOpen = true;
    at(10_000);
    centre.check();
    expect(log).toHaveLength(1);
    at(600_000);
    centre.check();
    expect(log[1]).toMatch(/"renamed" is full/);
  });

  it('keeps what a listener was told over its redeploy, and forgets a listener that doesn’t come back', () => {
    const { centre } = alertsFor();
    const { gauge, alarm } = queueOf();
    centre.place(place).watch(alarm, 'block');
    gauge.used = 100;
    const heard: string[] = [];
    const options = { highPct: 80, silenceMs: 0, repeatMs: 600_000, wants: () => true };
    const listen = () => centre.listen('mail', options, ({ level }) => heard.push(level));
    const stop = listen();
    centre.check();
    stop();
    const stopAgain = listen();
    centre.deployed();
    centre.check();
    expect(heard).toEqual(['full']);
    stopAgain();
    centre.deployed();
    listen();
    centre.check();
    expect(heard).toEqual(['full', 'full']);
  });

  it('tells that an alert ends when its node is removed', () => {
    const { centre, log } = alertsFor();
    const handle = centre.place(place);
    handle.raise('fault', new StoreError('ERR_SLUICE_QUEUE_IO', 'the disk fails'));
    handle.close();
    centre.deployed();
    expect(log).toEqual([
      'critical push-queue "orders": the disk fails (ERR_SLUICE_QUEUE_IO)',
      'info push-queue "orders" is no longer deployed: its alert ends',
    ]);
    centre.deployed();
    expect(log).toHaveLength(2);
  });

  it('raises a fault at once, repeats it every 10 minutes, and recovers once', () => {
    const { centre, log, at } = alertsFor();
    const handle = centre.place(place);
    const fault = new StoreError('ERR_SLUICE_QUEUE_WORKER', 'the worker ended');
    handle.raise('fault', fault);
    expect(log).toHaveLength(1);
    for (const secs of [1, 300, 599]) {
      at(secs * 1000);
      handle.raise('fault', fault);
      centre.check();
    }
    expect(log).toHaveLength(1);
    at(600_000);
    centre.check();
    expect(log).toHaveLength(2);
    handle.clear('fault');
    for (const secs of [604, 605, 700]) {
      at(secs * 1000);
      centre.check();
    }
    expect(log.slice(2)).toEqual(['info push-queue "orders" works again (it was ERR_SLUICE_QUEUE_WORKER)']);
  });

  it('rings once for a fault that comes and goes each second', () => {
    const { centre, log, at } = alertsFor();
    const handle = centre.place(place);
    for (let secs = 0; secs < 60; secs += 2) {
      at(secs * 1000);
      handle.raise('fault', new StoreError('ERR_SLUICE_QUEUE_WORKER', 'the worker ended'));
      centre.check();
      at(secs * 1000 + 1000);
      handle.clear('fault');
      centre.check();
    }
    expect(log).toHaveLength(1);
  });

  it('counts each lost record, tells the first at once, the others with the repeat, and when it is over', async () => {
    const metrics = createMetrics();
    const { centre, log, at } = alertsFor(metrics);
    const handle = centre.place(place);
    for (let record = 0; record < 100; record += 1) handle.lost('queue_off');
    expect(await metrics.render()).toContain(
      'sluice_records_dropped_total{place="orders",reason="queue_off"} 100',
    );
    at(599_000);
    handle.lost('queue_off');
    at(600_000);
    centre.check();
    at(1_199_000);
    centre.check();
    centre.check();
    expect(log).toEqual([
      'critical push-queue "orders" lost records (1): they were in memory only when the queue was removed',
      'critical push-queue "orders" lost records (100): they were in memory only when the queue was removed',
      'info push-queue "orders": no more records lost for a while',
    ]);
  });

  it('leaves evictions to the level of the queue they come from', () => {
    const { centre, log } = alertsFor();
    const { gauge, alarm } = queueOf();
    const handle = centre.place(place);
    handle.watch(alarm, 'evict_oldest');
    gauge.refusedOrEvicted = 1;
    handle.lost('evicted');
    expect(log).toEqual([]);
    centre.check();
    expect(log).toEqual([expect.stringContaining('data gap (1)')]);
  });

  it('ignores an old node that closes after its successor has started', () => {
    const { centre, log } = alertsFor();
    const old = centre.place(place);
    centre.place(place).raise('fault', new StoreError('ERR_SLUICE_QUEUE_IO', 'the disk fails'));
    old.clear('fault');
    old.close();
    centre.deployed();
    expect(log).toHaveLength(1);
  });

  it('O4 has words for each kind of alert at each of its levels, and for each reason of a loss', () => {
    const missing = [
      ...ALERT_KINDS.filter((kind) => kind !== 'queue').flatMap((kind) => [`${kind}.full`, `${kind}.ok`]),
      ...['queue.ok', 'queue.high', 'queue.full.block', 'queue.full.evict_oldest', 'removed'],
      ...LOSS_REASONS.map((reason) => `loss.reason.${reason}`),
    ].filter((key) => translate(`sluice.alert.${key}`) === `sluice.alert.${key}`);
    expect(missing).toEqual([]);
  });
});

describe('docs/alerts.md', () => {
  it('O4 has a row for each kind of alert and each reason of a loss', () => {
    const page = readFileSync(resolve(import.meta.dirname, '../../docs/alerts.md'), 'utf8');
    const rows = [...page.matchAll(/^\| `(\w+)` +\| [^|]+ +\|$/gm)].map(([, name]) => name);
    expect(rows).toEqual([...ALERT_KINDS, ...LOSS_REASONS]);
  });
});

describe('N22 a silent source', () => {
  it('is told of after as long as the listener minds, once, and when it has records again', () => {
    const { centre, told, at } = alertsFor(undefined, { silenceMs: 300_000 });
    let accepted = 0;
    const source = { id: 's', name: 'orders', type: 'signed-webhook' };
    const first = centre.place(source);
    first.expectRecords(() => accepted);
    accepted = 1;
    at(60_000);
    centre.check();
    at(359_000);
    centre.check();
    expect(told).toEqual([]);
    // A deploy in between starts no new time.
    first.close();
    centre.place(source).expectRecords(() => accepted - 1);
    centre.deployed();
    at(360_000);
    centre.check();
    centre.check();
    expect(told.map(({ text }) => text)).toEqual(['signed-webhook "orders" has had no record for 5 minutes']);
    accepted = 2;
    at(365_000);
    centre.check();
    expect(told.at(-1)).toMatchObject({ level: 'ok', text: 'signed-webhook "orders" has records again' });
  });

  it('is nothing to a listener that doesn’t mind, nor to the log', () => {
    const { centre, told, log, at } = alertsFor();
    centre.place({ id: 's', name: 'orders', type: 'signed-webhook' }).expectRecords(() => 0);
    at(86_400_000);
    centre.check();
    expect([told, log]).toEqual([[], []]);
  });
});
