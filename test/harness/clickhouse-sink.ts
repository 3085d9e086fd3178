import { BatchSink } from '#lib/batch/batch-sink';
import { ClickHouseConnection, type ClickHouseOptions } from '#lib/clickhouse/server';
import { createMetrics } from '#lib/metrics/metrics';
import { parseTable } from '#nodes/clickhouse-sink/clickhouse-sink.names';
import { rowOf, type ClickHouseRow } from '#nodes/clickhouse-sink/clickhouse-sink.row';
import {
  ClickHouseTarget,
  type ClickHouseTargetOptions,
} from '#nodes/clickhouse-sink/clickhouse-sink.target';
import { alertsFor } from './alerts';
import { PASSWORD } from './clickhouse';

/** What became of a delivery: `done`, or its error. */
export type Outcome = 'done' | Error;

interface Options extends Partial<Omit<ClickHouseTargetOptions, 'table'>> {
  readonly maxBacklog?: number;
  readonly policy?: 'block' | 'evict_oldest';
  readonly table?: string;
  readonly connection?: Partial<ClickHouseOptions>;
}

/** A sink over a real server, as the node puts it together, that sends `batch` rows at a time. */
export function clickhouseSink({ port }: { readonly port: number }, batch: number, options: Options = {}) {
  const { maxBacklog = 20_000, policy = 'block', table = 'x', connection: own = {}, ...target } = options;
  const connection = new ClickHouseConnection({
    url: `http://127.0.0.1:${port}`,
    ...{ database: 'default', username: 'default', password: PASSWORD, gzip: false, tls: {} },
    ...own,
  });
  const metrics = createMetrics();
  const alerts = alertsFor(metrics);
  const clickhouse = new ClickHouseTarget(connection, {
    table: parseTable(table),
    ...{ insertTimeoutMs: 10_000, dedup: true, checkValues: true },
    ...target,
  });
  const sink = new BatchSink<ClickHouseRow>(
    {
      ...{ id: 's', name: 'clickhouse', type: 'clickhouse-sink', z: 'tab', policy, maxBacklog },
      limits: { rows: batch, bytes: 64 * 1024 * 1024, waitMs: 20 },
      isFed: () => false,
      random: () => 0,
    },
    clickhouse,
    metrics,
    alerts.centre.place({ id: 's', name: 'clickhouse', type: 'clickhouse-sink' }),
  );
  let sent = 0;
  const deliver = (payloads: readonly unknown[]): Promise<Outcome>[] =>
    payloads.map(async (payload) => {
      sent += 1;
      const id = `delivery-${sent}`;
      try {
        const value = rowOf(payload);
        await sink.deliver({ id, value, bytes: value.bytes.length, source: 'in' });
        return 'done';
      } catch (error) {
        return error as Error;
      }
    });
  const close = async () => {
    await sink.close(1000);
    await connection.close();
  };
  /** Inserts tried so far. */
  const inserts = async () =>
    Number(
      /sluice_delivery_duration_seconds_count\{sink="clickhouse"\} (\d+)/.exec(await metrics.render())?.[1],
    );
  return { sink, alerts, metrics, target: clickhouse, deliver, inserts, close };
}
