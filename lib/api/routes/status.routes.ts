import type { AlertCentre } from '../../alert/alert-centre';
import type { Registry } from '../../delivery/registry';
import { AdminError, type AdminRoute, type Schema } from '../admin-route';
import { array, count, flag, LEVEL, MEMBER, nullable, number, object, POLICY, text } from '../schemas';
import { schedulesOf, statusDocument, type RuntimeCounts } from '../status-document';

interface StatusDeps {
  readonly registry: Registry;
  readonly alerts: Pick<AlertCentre, 'open'>;
  readonly counts: () => RuntimeCounts;
}

const SINK = { level: LEVEL, on_full: POLICY, dropped: count, blocked: count, delivered: count };
const PUSH_QUEUE = object({
  ...SINK,
  quota_bytes: count,
  fill_pct: number,
  blocking: flag,
  blocked_total: count,
  evicted_total: count,
});
const NOTES = array(object({ id: text, type: text, why: text }));

const ACCOUNT = object({
  carried: count,
  accepted: count,
  delivered: count,
  returned: count,
  queued: count,
  in_flight: count,
  dead: count,
  dropped: count,
  evicted: count,
  difference: { type: 'integer' },
});

const STATUS: Schema = object(
  {
    ready: flag,
    sinks: array(object({ ...MEMBER, ...SINK })),
    sources: array(object(MEMBER)),
    engine: object({
      webhooks: array(object({ ...MEMBER, path: text, accepted: count, backpressured: count })),
      stats: object({ backpressured: count, backpressure_lost: count, late_sends: count, unrouted: count }),
    }),
    ledger: object({ total: ACCOUNT, sources: array(ACCOUNT) }),
    alerts: array(
      object({ kind: text, what: text, level: LEVEL, place: object({ id: text, name: text, type: text }) }),
    ),
  },
  { push_queue: PUSH_QUEUE, push_status: PUSH_QUEUE },
);

/** How everything is doing, and what reaches what. */
export function statusRoutes({ registry, alerts, counts }: StatusDeps): readonly AdminRoute[] {
  return [
    {
      method: 'get',
      path: '/api/status',
      permission: 'sluice.read',
      isDocumentPath: true,
      summary: 'Queues, sinks and sources with their counters',
      answer: STATUS,
      handle: () => statusDocument(registry, counts(), alerts.open()),
    },
    {
      method: 'get',
      path: '/api/schedules',
      permission: 'sluice.read',
      isDocumentPath: true,
      summary: 'Schedules with the result of their last tick',
      answer: object({ schedules: array(object({ ...MEMBER, last_result: nullable(text) })) }),
      handle: () => ({ schedules: schedulesOf(registry.sources) }),
    },
    {
      method: 'get',
      path: '/api/reach/{id}',
      permission: 'sluice.read',
      summary: 'The sinks that can make a source refuse, and why',
      answer: object({
        sinks: array(text),
        certain: array(text),
        conservative: flag,
        why: array(text),
        untrackable: NOTES,
        not_analysed: NOTES,
      }),
      errors: ['ERR_SLUICE_SOURCE_UNKNOWN'],
      handle: ({ params }) => {
        const reached = registry.reachOf(params['id'] ?? '');
        if (!reached) throw new AdminError(404, 'ERR_SLUICE_SOURCE_UNKNOWN', 'no live source has this id');
        const { sinks, certain, conservative, why, untrackable, notAnalysed } = reached;
        return { sinks, certain, conservative, why, untrackable, not_analysed: notAnalysed };
      },
    },
  ];
}
