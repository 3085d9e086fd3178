import { describe, expect, it } from 'vitest';
import { STAGES } from '#lib/errors/stages';
import { createMetrics } from '#lib/metrics/metrics';
import {
  BRIDGE_GAUGES,
  COUNTERS,
  HISTOGRAMS,
  LEDGER_GAUGES,
  QUEUE_GAUGES,
  ROUTING_GAUGES,
} from '#lib/metrics/names';
import cases from '../cases/prometheus.json';
import { alertsFor } from '../harness/alerts';
import { readMetrics, valueOf } from '../harness/prometheus';

const caseOf = (id: string) => {
  const found = cases.find((each) => each.id === id);
  if (!found) throw new Error(`no case ${id}`);
  return found as {
    readonly title: string;
    readonly input: { rule?: string; quota?: number };
    readonly expect: { line?: string; contentType?: string };
  };
};

const namesIn = (table: Readonly<Record<string, { readonly name: string; readonly alias?: string }>>) =>
  Object.values(table).flatMap(({ name, alias }) => (alias === undefined ? [name] : [name, alias]));

const ALIASES = [
  'opex_connector_push_queue_gaps_total',
  'rekuiper_rule_dlq_records_total',
  'fireflo_routing_failed_queue',
  'fireflo_routing_retry_queue',
];

describe('metrics, real-world cases', () => {
  it(`PM-01 ${caseOf('PM-01').title}`, async () => {
    const { input, expect: expected } = caseOf('PM-01');
    const metrics = createMetrics();
    metrics.dlqRecords(input.rule ?? '', 'CodecDecode');
    const text = await metrics.render();
    expect(text.split('\n')).toContain(`sluice_${expected.line ?? ''}`);
    expect(text.split('\n')).toContain(`rekuiper_rule_${expected.line ?? ''}`);
    const found = valueOf(readMetrics(text), 'sluice_dlq_records_total', { rule: input.rule ?? '' });
    expect(found).toBe(1);
  });

  it(`PM-03 ${caseOf('PM-03').title}`, async () => {
    const { input, expect: expected } = caseOf('PM-03');
    const metrics = createMetrics();
    metrics.declareRule(input.rule ?? '');
    expect(await metrics.render()).toContain(`rule="${input.rule ?? ''}"`);
    expect(metrics.contentType).toBe(expected.contentType);
  });

  it(`PM-05 ${caseOf('PM-05').title}: labels hold names and words from fixed lists only`, async () => {
    const metrics = createMetrics();
    const { centre } = alertsFor(metrics);
    const place = centre.place({ id: 'node-1', name: 'orders', type: 'push-queue' });
    for (let record = 0; record < 50; record += 1) {
      place.happened('dead', 'ERR_SLUICE_QUEUE_REJECTED', `record order-${record} failed`);
      place.lost('undelivered');
      metrics.deliveryAttempts('orders', 'transient');
    }
    const text = await metrics.render();
    expect(text).not.toMatch(/order-\d|node-1|ERR_SLUICE/);
    const labels = new Set(readMetrics(text).flatMap((sample) => Object.keys(sample.labels)));
    const allowed = [
      'source',
      'sink',
      'place',
      'reason',
      'node',
      'outcome',
      'level',
      'queue',
      'rule',
      'stage',
      'bridge',
      'le',
    ];
    expect([...labels].filter((label) => !allowed.includes(label))).toEqual([]);
  });

  it(`PM-07 ${caseOf('PM-07').title}`, async () => {
    const metrics = createMetrics();
    const { quota = 0 } = caseOf('PM-07').input;
    const reading = {
      bytes: 5000,
      maxBytes: quota,
      records: 1,
      level: 'ok',
      oldestStoredAt: undefined,
    } as const;
    metrics.watchQueue('push', () => reading);
    const values = readMetrics(await metrics.render()).map(({ value }) => value);
    expect(values.filter((value) => !Number.isFinite(value))).toEqual([]);
  });
});

describe('names of metrics', () => {
  it('O4 R25 are all there from the start, with the names that the documents gave them, in valid text', async () => {
    const metrics = createMetrics();
    metrics.declareSource('orders');
    metrics.declareSink('rest');
    metrics.declareRule('Orders');
    metrics.watchLedger(() => [{ name: 'orders', difference: 0 }]);
    const text = await metrics.render();
    readMetrics(text);
    const helped = [...text.matchAll(/^# HELP (\S+)/gm)].map(([, name]) => name);
    const expected = [
      COUNTERS,
      HISTOGRAMS,
      QUEUE_GAUGES,
      ROUTING_GAUGES,
      BRIDGE_GAUGES,
      LEDGER_GAUGES,
    ].flatMap(namesIn);
    expect(helped.toSorted()).toEqual(expected.toSorted());
    expect(expected).toEqual(expect.arrayContaining(ALIASES));
  });

  it('R25 R26 show all five stages of a rule at 0, in snake case, under both names', async () => {
    const metrics = createMetrics();
    metrics.declareRule('Orders');
    const samples = readMetrics(await metrics.render());
    for (const name of ['sluice_dlq_records_total', 'rekuiper_rule_dlq_records_total']) {
      const shown = samples.filter((sample) => sample.name === name);
      expect(shown.map(({ labels, value }) => [labels['stage'], value])).toEqual(
        Object.values(STAGES).map(({ label }) => [label, 0]),
      );
    }
    expect(valueOf(samples, 'sluice_dlq_sink_failures_total', { rule: 'Orders' })).toBe(0);
  });

  it('F20 have the routing queues at 0 while there is no router, and add up those there are', async () => {
    const metrics = createMetrics();
    expect(valueOf(readMetrics(await metrics.render()), 'fireflo_routing_failed_queue')).toBe(0);
    const reading = { waiting: 1, limit: undefined, failed: 2, retry: 3, workers: [] };
    const remove = metrics.watchRouter('a', () => reading);
    metrics.watchRouter('b', () => reading);
    metrics.watchBridge('amqp', () => true);
    const samples = readMetrics(await metrics.render());
    expect(valueOf(samples, 'sluice_routing_failed_queue')).toBe(4);
    expect(valueOf(samples, 'fireflo_routing_retry_queue')).toBe(6);
    expect(valueOf(samples, 'sluice_bridge_degraded', { bridge: 'amqp' })).toBe(1);
    remove();
    expect(valueOf(readMetrics(await metrics.render()), 'sluice_routing_failed_queue')).toBe(2);
  });

  it('are without the documents’ own where that is set', async () => {
    const text = await createMetrics({ aliases: false }).render();
    for (const alias of ALIASES) expect(text).not.toContain(alias);
  });
});
