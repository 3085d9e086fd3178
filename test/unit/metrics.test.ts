import { describe, expect, it } from 'vitest';
import { createMetrics } from '#lib/metrics/metrics';

const samples = async (metrics: { render(): Promise<string> }) =>
  (await metrics.render()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));

describe('createMetrics', () => {
  it('O42 counts dropped and refused records apart', async () => {
    const metrics = createMetrics();
    metrics.recordsRefused('orders', 'push', 3);
    metrics.recordsDropped('push', 'evicted', 2);
    const lines = await samples(metrics);
    expect(lines).toContain('sluice_records_refused_total{source="orders",sink="push"} 3');
    expect(lines).toContain('sluice_records_dropped_total{place="push",reason="evicted"} 2');
  });

  it('shows the series of a declared node at 0', async () => {
    const metrics = createMetrics();
    metrics.declareSource('orders');
    metrics.declareSink('rest');
    const lines = await samples(metrics);
    expect(lines).toContain('sluice_records_accepted_total{source="orders"} 0');
    expect(lines).toContain('sluice_records_delivered_total{sink="rest"} 0');
    expect(lines).toContain('sluice_delivery_attempts_total{sink="rest",outcome="config"} 0');
    expect(lines).toContain('sluice_delivery_duration_seconds_count{sink="rest"} 0');
    expect(lines).toContain('sluice_alerts_total{level="full"} 0');
  });

  it('O9 shows push queue gaps under both names, one only without aliases', async () => {
    const both = createMetrics();
    both.queueGaps('push', 7);
    expect(await samples(both)).toEqual(
      expect.arrayContaining([
        'sluice_push_queue_gaps_total{queue="push"} 7',
        'opex_connector_push_queue_gaps_total{queue="push"} 7',
      ]),
    );
    expect(await createMetrics({ aliases: false }).render()).not.toContain('opex_connector');
  });

  it('escapes a label value that would break the scrape', async () => {
    const metrics = createMetrics();
    metrics.recordsAccepted('a"b\\c\nd');
    metrics.recordsAccepted('é😊');
    const lines = await samples(metrics);
    expect(lines).toContain('sluice_records_accepted_total{source="a\\"b\\\\c\\nd"} 1');
    expect(lines).toContain('sluice_records_accepted_total{source="é😊"} 1');
  });

  it('keeps counting over scrapes', async () => {
    const metrics = createMetrics();
    metrics.recordsDelivered('rest');
    await metrics.render();
    metrics.recordsDelivered('rest', 2);
    expect(await samples(metrics)).toContain('sluice_records_delivered_total{sink="rest"} 3');
  });

  it('reads queue gauges at the scrape and forgets those of a removed queue', async () => {
    const metrics = createMetrics({ now: () => 61_500 });
    const reading = {
      bytes: 900,
      maxBytes: 1000,
      records: 3,
      level: 'high',
      oldestStoredAt: 60_000,
    } as const;
    const unwatch = metrics.watchQueue('push', () => reading);
    expect(await samples(metrics)).toEqual(
      expect.arrayContaining([
        'sluice_queue_bytes{queue="push"} 900',
        'sluice_queue_max_bytes{queue="push"} 1000',
        'sluice_queue_records{queue="push"} 3',
        'sluice_queue_fill_ratio{queue="push"} 0.9',
        'sluice_queue_oldest_record_age_seconds{queue="push"} 1.5',
        'sluice_queue_level{queue="push"} 1',
      ]),
    );
    unwatch();
    expect(await metrics.render()).not.toContain('sluice_queue_bytes{');
  });

  it('keeps the gauges of a redeployed queue when the old node closes late', async () => {
    const metrics = createMetrics();
    const reading = { bytes: 1, maxBytes: 10, records: 1, level: 'ok', oldestStoredAt: undefined } as const;
    const closeOld = metrics.watchQueue('push', () => reading);
    metrics.watchQueue('push', () => ({ ...reading, bytes: 2 }));
    closeOld();
    expect(await samples(metrics)).toContain('sluice_queue_bytes{queue="push"} 2');
  });

  it('has a fill ratio of 0 without a quota', async () => {
    const metrics = createMetrics();
    metrics.watchQueue('push', () => ({
      bytes: 5,
      maxBytes: 0,
      records: 1,
      level: 'ok',
      oldestStoredAt: undefined,
    }));
    expect(await samples(metrics)).toContain('sluice_queue_fill_ratio{queue="push"} 0');
  });
});
