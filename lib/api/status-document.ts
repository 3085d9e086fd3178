import type { OpenAlert } from '../alert/alert-centre';
import type { SinkStatus, Source } from '../delivery/contract';
import { ledgerDocument, type LedgerDocument } from './ledger-document';
import type { Registry } from '../delivery/registry';

type Entry = Readonly<Record<string, unknown>>;

/** `GET /sluice/api/status`: names and nesting are the source document's (O23, O40-O42). */
export interface StatusDocument {
  readonly ready: boolean;
  readonly push_queue?: SinkStatus;
  /** The same fields again, under the name that older dashboards read. */
  readonly push_status?: SinkStatus;
  readonly sinks: readonly Entry[];
  readonly sources: readonly Entry[];
  readonly engine: {
    readonly webhooks: readonly Entry[];
    readonly stats: {
      readonly backpressured: number;
      readonly backpressure_lost: number;
      /** Signs of life of records after they were acknowledged as done. */
      readonly late_sends: number;
      /** Records for a path that no source serves, and deliveries that no live node received. */
      readonly unrouted: number;
    };
  };
  /** Where all the accepted records are. */
  readonly ledger: LedgerDocument;
  /** What is wrong at the moment. */
  readonly alerts: readonly OpenAlert[];
}

/** What the runtime counts for no member in particular, since its start. */
export interface RuntimeCounts {
  readonly lateSends: number;
  readonly unrouted: number;
}

const PUSH_QUEUE = 'push-queue';
const HTTP_SOURCES = new Set(['signed-webhook', 'ingest-api']);

const count = (status: Entry, field: string) => {
  const value = status[field];
  return typeof value === 'number' ? value : 0;
};

const entryOf = (source: Source) => {
  const { id, name, type, z } = source;
  return { id, name, type, z, ...source.status() };
};

/** Puts the registry's members into the status document. The first queue is `push_queue`; all are in `sinks`. */
export function statusDocument(
  { ready, sinks, sources }: Pick<Registry, 'ready' | 'sinks' | 'sources'>,
  { lateSends, unrouted }: RuntimeCounts,
  alerts: readonly OpenAlert[],
): StatusDocument {
  const sinkEntries = sinks.map((sink) => {
    const { id, name, type, z, policy } = sink;
    return { id, name, type, z, on_full: policy, ...sink.status() };
  });
  const sourceEntries = sources.map(entryOf);
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
        unrouted,
      },
    },
    ledger: ledgerDocument(sources),
    alerts,
  };
}

/** Of `GET /sluice/api/schedules`: sources that run by the clock, with what became of their last tick. */
export function schedulesOf(sources: readonly Source[]): readonly Entry[] {
  return sources
    .filter(({ type }) => type === 'schedule-source')
    .map((source) => ({ last_result: null, ...entryOf(source) }));
}
