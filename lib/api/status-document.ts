import type { Sink, SinkStatus, Source } from '../delivery/contract';

/** `GET /sluice/api/status`: names and nesting are the source document's (O23, O40-O42). */
export interface StatusDocument {
  readonly ready: boolean;
  readonly push_queue?: SinkStatus;
  /** The same fields again, under the name that older dashboards read. */
  readonly push_status?: SinkStatus;
  readonly sinks: readonly Readonly<Record<string, unknown>>[];
  readonly sources: readonly Readonly<Record<string, unknown>>[];
  readonly engine: {
    readonly webhooks: readonly Readonly<Record<string, unknown>>[];
    readonly stats: {
      readonly backpressured: number;
      readonly backpressure_lost: number;
      /** Signs of life of records after they were acknowledged as done. */
      readonly late_sends: number;
    };
  };
}

const PUSH_QUEUE = 'push-queue';
const HTTP_SOURCES = new Set(['signed-webhook', 'ingest-api']);

const count = (status: Readonly<Record<string, unknown>>, field: string) => {
  const value = status[field];
  return typeof value === 'number' ? value : 0;
};

/** Puts the registry's members into the status document. The first queue is `push_queue`; all are in `sinks`. */
export function statusDocument(
  ready: boolean,
  sinks: readonly Sink[],
  sources: readonly Source[],
  lateSends: number,
): StatusDocument {
  const sinkEntries = sinks.map((sink) => {
    const { id, name, type, z, policy } = sink;
    return { id, name, type, z, on_full: policy, ...sink.status() };
  });
  const sourceEntries = sources.map((source) => {
    const { id, name, type, z } = source;
    return { id, name, type, z, ...source.status() };
  });
  const queues = sinks.filter((sink) => sink.type === PUSH_QUEUE);
  const push = (queues.find((queue) => queue.name === 'push') ?? queues[0])?.status();
  const sum = (field: string) => sourceEntries.reduce((total, entry) => total + count(entry, field), 0);
  return {
    ready,
    ...(push && { push_queue: push, push_status: push }),
    sinks: sinkEntries,
    sources: sourceEntries,
    engine: {
      webhooks: sourceEntries.filter((entry) => HTTP_SOURCES.has(entry.type)),
      stats: {
        backpressured: sum('backpressured'),
        backpressure_lost: sum('backpressure_lost'),
        late_sends: lateSends,
      },
    },
  };
}
