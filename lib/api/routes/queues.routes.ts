import type { Sink } from '../../delivery/contract';
import type { Registry } from '../../delivery/registry';
import { AdminError, isAsked, wholeNumber, type AdminRoute } from '../admin-route';
import { array, count, LEVEL, MEMBER, object, POLICY, text } from '../schemas';

const MAX_RECORDS = 1000;

const entryOf = (sink: Sink) => {
  const { id, name, type, z, policy } = sink;
  return { id, name, type, z, on_full: policy, ...sink.status() };
};

/** What waits in the queues. */
export function queueRoutes({ registry }: { readonly registry: Registry }): readonly AdminRoute[] {
  const find = (id: string) => {
    const byName = registry.sinks.filter((sink) => sink.name === id || sink.status()['queue'] === id);
    const sink =
      registry.sinks.find((each) => each.id === id) ?? (byName.length === 1 ? byName[0] : undefined);
    if (sink) return sink;
    const why =
      byName.length > 1
        ? `${byName.length} queues go by this name; give the id of one`
        : 'there is no such queue';
    throw new AdminError(404, 'ERR_SLUICE_QUEUE_UNKNOWN', why);
  };
  return [
    {
      method: 'get',
      path: '/queues',
      permission: 'sluice.read',
      summary: 'All queues and backlogs',
      answer: object({ queues: array(object({ ...MEMBER, level: LEVEL, on_full: POLICY })) }),
      handle: () => ({ queues: registry.sinks.map(entryOf) }),
    },
    {
      method: 'get',
      path: '/queues/{id}/records',
      permission: 'sluice.read',
      summary: 'What waits in a queue, oldest first; by its id, its name or the queue’s name',
      query: [
        {
          name: 'limit',
          description: 'Most records of the answer',
          schema: { type: 'integer', minimum: 1, maximum: MAX_RECORDS, default: 100 },
        },
        {
          name: 'payload',
          description: 'true: with the messages themselves, which needs `sluice.payload`',
          schema: { type: 'boolean', default: false },
        },
      ],
      answer: object({
        queue: object(MEMBER),
        total: count,
        records: array(object({ state: text, age_secs: count, attempts: count, bytes: count })),
      }),
      errors: ['ERR_SLUICE_QUEUE_UNKNOWN', 'ERR_SLUICE_API_QUERY', 'ERR_SLUICE_API_FORBIDDEN'],
      async handle({ params, query, allows }) {
        const sink = find(params['id'] ?? '');
        const limit = wholeNumber(query, 'limit', { fallback: 100, min: 1, max: MAX_RECORDS });
        const withPayload = isAsked(query, 'payload');
        if (withPayload && !allows('sluice.payload')) {
          throw new AdminError(
            401,
            'ERR_SLUICE_API_FORBIDDEN',
            'payloads need the permission sluice.payload',
          );
        }
        const { id, name, type, z } = sink;
        const waiting = await sink.waiting?.(limit, withPayload);
        if (!waiting)
          throw new AdminError(404, 'ERR_SLUICE_QUEUE_UNKNOWN', `a ${type} doesn't list what waits in it`);
        return { queue: { id, name, type, z }, ...waiting };
      },
    },
  ];
}
