import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startNodeRed, type FlowNode, type RunningNodeRed } from '../harness/node-red';
import { tab } from '../harness/probe';
import { readMetrics, valueOf, type Sample } from '../harness/prometheus';
import { queue } from '../harness/queue';
import { runtimeOf } from '#lib/node-red/runtime';
import { waitFor } from '../harness/wait';
import { webhook } from '../harness/webhook';

let nodeRed: RunningNodeRed;
beforeAll(async () => {
  nodeRed = await startNodeRed();
});
afterAll(() => nodeRed.stop());

async function scrape(): Promise<readonly Sample[]> {
  const answer = await fetch(`${nodeRed.url}/sluice/metrics`);
  expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  return readMetrics(await answer.text());
}

const rest = (id: string): FlowNode => ({
  id,
  type: 'rest-sink',
  z: 'tab',
  name: id,
  url: 'http://127.0.0.1:9/',
  wires: [[]],
});
const numbered = <Made>(count: number, make: (index: number) => Made) =>
  Array.from({ length: count }, (_, index) => make(index));

describe('GET /sluice/metrics', () => {
  it('PM-09 shows each source and sink at 0 as soon as it is deployed; the gauges of a removed queue vanish', async () => {
    await nodeRed.deploy([tab(), webhook('orders', { wires: [['q']] }), queue('q'), rest('out')]);
    const samples = await scrape();
    const zero: [string, Record<string, string>][] = [
      ['sluice_records_accepted_total', { source: 'orders' }],
      ['sluice_records_delivered_total', { sink: 'out' }],
      ['sluice_records_dropped_total', { place: 'out', reason: 'evicted' }],
      ['sluice_records_dropped_total', { place: 'q', reason: 'evicted' }],
      ['sluice_delivery_attempts_total', { sink: 'out', outcome: 'config' }],
      ['opex_connector_push_queue_gaps_total', { queue: 'q' }],
      ['sluice_queue_fill_ratio', { queue: 'q' }],
      ['sluice_alerts_total', { level: 'full' }],
    ];
    for (const [name, labels] of zero) expect(valueOf(samples, name, labels), name).toBe(0);
    await nodeRed.deploy([tab(), webhook('orders', { wires: [['out']] }), rest('out')]);
    const later = await scrape();
    expect(
      later.filter(({ name, labels }) => name.startsWith('sluice_queue_') && labels['queue'] === 'q'),
    ).toEqual([]);
  });

  it('PM-11 costs less than 1 % of a core with 20 sinks, asked each second, and answers at once under load', async () => {
    await nodeRed.deploy([
      tab(),
      ...numbered(10, (index) => queue(`queue-${index}`, { maxQuotaMb: 100 })),
      ...numbered(10, (index) => rest(`rest-${index}`)),
      ...numbered(10, (index) => webhook(`hook-${index}`, { wires: [[`queue-${index}`, `rest-${index}`]] })),
    ]);
    const { registry } = runtimeOf(nodeRed.RED);
    expect(registry.sinks).toHaveLength(20);
    await waitFor('the queues to open', () =>
      registry.sinks.every((sink) => sink.status()['state'] !== 'opening'),
    );
    for (let warm = 0; warm < 20; warm += 1) await scrape();
    const scrapes = 50;
    const before = process.cpuUsage();
    // Asking and reading included, which a scraper does elsewhere.
    for (let count = 0; count < scrapes; count += 1)
      await (await fetch(`${nodeRed.url}/sluice/metrics`)).text();
    const { user, system } = process.cpuUsage(before);
    const msEach = (user + system) / 1000 / scrapes;
    expect(msEach).toBeLessThan(10);

    const load = setInterval(() => {
      for (let record = 0; record < 20; record += 1) {
        nodeRed.node(`queue-${record % 10}`).receive({ payload: { record } });
      }
    }, 10);
    const took: number[] = [];
    for (let count = 0; count < 10; count += 1) {
      const startedAt = performance.now();
      await scrape();
      took.push(performance.now() - startedAt);
    }
    clearInterval(load);
    expect(Math.max(...took)).toBeLessThan(1000);
  });
});
