import type { AlertCentre } from '../../alert/alert-centre';
import type { Registry } from '../../delivery/registry';
import type { Metrics } from '../../metrics/metrics';
import type { AdminRoute } from '../admin-route';
import { healthDocument } from '../health-document';
import { array, count, flag, LEVEL, nullable, object, text } from '../schemas';

interface HealthDeps {
  readonly registry: Registry;
  readonly alerts: Pick<AlertCentre, 'open'>;
  readonly metrics: Pick<Metrics, 'routers' | 'render' | 'contentType'>;
}

const DEPTH = object({ id: text, name: text, queue_depth: count }, { queue_limit: nullable(count) });

/** For monitoring: what a scraper asks for every few seconds. Neither takes a lock nor touches a file. */
export function healthRoutes({ registry, alerts, metrics }: HealthDeps): readonly AdminRoute[] {
  return [
    {
      method: 'get',
      path: '/ops/health',
      permission: 'sluice.read',
      isDocumentPath: true,
      isPublic: true,
      summary: 'Whether all is well, what isn’t, and how deep each queue is',
      answer: object({
        ok: flag,
        ready: flag,
        router_queue: count,
        routing_failed_queue: count,
        routing_retry_queue: count,
        workers: array(DEPTH),
        queues: array(object({ id: text, name: text, type: text, level: LEVEL, queue_depth: count })),
        problems: array(
          object({ kind: text, what: text, level: LEVEL, place: object({ id: text, name: text }) }),
        ),
      }),
      handle: () => healthDocument(registry, metrics.routers(), alerts.open()),
    },
    {
      method: 'get',
      path: '/metrics',
      permission: 'sluice.read',
      isDocumentPath: true,
      isPublic: true,
      summary: 'All metrics in Prometheus’ text format',
      answer: text,
      contentType: metrics.contentType,
      handle: () => metrics.render(),
    },
  ];
}
