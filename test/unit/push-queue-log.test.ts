import { describe, expect, it } from 'vitest';
import { createMetrics } from '#lib/metrics/metrics';
import { PushQueueLog } from '#nodes/push-queue/push-queue.log';
import { alertsFor } from '../harness/alerts';

describe('what a push queue tells its operator', () => {
  it('O66 logs dead letters that were trimmed, with their number, and counts them as dropped', async () => {
    const metrics = createMetrics({ aliases: false });
    const alerts = alertsFor(metrics);
    const place = alerts.centre.place({ id: 'q', name: 'orders', type: 'push-queue', z: 'tab' });
    const log = new PushQueueLog('push', 'orders', metrics, place);
    log.trimmed(3);
    expect(alerts.log).toEqual([expect.stringMatching(/orders.*\b3\b.*dead letters/)]);
    expect(await metrics.render()).toContain(
      'sluice_records_dropped_total{place="orders",reason="dead_trimmed"} 3',
    );
  });
});
