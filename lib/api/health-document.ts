import type { OpenAlert } from '../alert/alert-centre';
import type { Level } from '../alert/levels';
import type { Sink } from '../delivery/contract';
import type { Registry } from '../delivery/registry';
import type { RouterReading } from '../metrics/routing-gauges';

export interface QueueHealth {
  readonly id: string;
  readonly name: string;
  /** Of a sink. */
  readonly type?: string;
  readonly level?: Level;
  /** Records waiting, and the most that may: absent where there is no limit, or one in bytes. */
  readonly queue_depth: number;
  readonly queue_limit?: number;
  readonly queue_bytes?: number;
  readonly queue_limit_bytes?: number;
}

export interface HealthDocument {
  /** Flows run, and nothing is wrong. */
  readonly ok: boolean;
  readonly ready: boolean;
  readonly router_queue: number;
  readonly router_queue_limit?: number;
  readonly routing_failed_queue: number;
  readonly routing_retry_queue: number;
  /** Suppliers of the routers. */
  readonly workers: readonly QueueHealth[];
  /** Queues and backlogs of the sinks. */
  readonly queues: readonly QueueHealth[];
  readonly problems: readonly OpenAlert[];
}

const numberIn = (status: Readonly<Record<string, unknown>>, ...names: readonly string[]) => {
  const found = names.map((name) => status[name]).find((value) => typeof value === 'number');
  return typeof found === 'number' ? found : undefined;
};

/** Depth and limit in the queue's own unit: records of a backlog, records and bytes of a push queue. */
function queueOf(sink: Sink): QueueHealth {
  const { id, name, type } = sink;
  const status = sink.status();
  const limit = numberIn(status, 'max_backlog');
  const quota = numberIn(status, 'quota_bytes');
  return {
    id,
    name,
    type,
    level: status.level,
    queue_depth: numberIn(status, 'records', 'backlog') ?? 0,
    ...(limit !== undefined && { queue_limit: limit }),
    ...(quota !== undefined && { queue_bytes: numberIn(status, 'bytes') ?? 0, queue_limit_bytes: quota }),
  };
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/** `GET /sluice/ops/health`: names and nesting of the router's part are the source document's (F6, F20). */
export function healthDocument(
  { ready, sinks }: Pick<Registry, 'ready' | 'sinks'>,
  routers: readonly RouterReading[],
  problems: readonly OpenAlert[],
): HealthDocument {
  const limits = routers.map(({ limit }) => limit).filter((limit) => limit !== undefined);
  return {
    ok: ready && problems.length === 0,
    ready,
    router_queue: sum(routers.map(({ waiting }) => waiting)),
    ...(limits.length > 0 && { router_queue_limit: sum(limits) }),
    routing_failed_queue: sum(routers.map(({ failed }) => failed)),
    routing_retry_queue: sum(routers.map(({ retry }) => retry)),
    workers: routers.flatMap(({ workers }) =>
      workers.map(({ id, name, depth, limit }) => ({
        id,
        name,
        queue_depth: depth,
        ...(limit !== undefined && { queue_limit: limit }),
      })),
    ),
    queues: sinks.map(queueOf),
    problems,
  };
}
