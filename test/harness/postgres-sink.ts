import { BatchSink } from '#lib/batch/batch-sink';
import { createMetrics } from '#lib/metrics/metrics';
import { PostgresPool } from '#lib/postgres/server';
import { quotedTable } from '#nodes/postgres-sink/postgres-sink.names';
import { bytesOf, rowOf, type PostgresRow } from '#nodes/postgres-sink/postgres-sink.row';
import { PostgresTarget, type PostgresTargetOptions } from '#nodes/postgres-sink/postgres-sink.target';
import { alertsFor } from './alerts';
import type { PostgresInstance } from './postgres';

/** What became of a delivery: `done`, or the message of its error. */
export type Outcome = 'done' | Error;

/** A sink over a real server, as the node puts it together, that sends `batch` rows at a time. */
export function postgresSink(
  { port, user, password, database }: Pick<PostgresInstance, 'port' | 'user' | 'password' | 'database'>,
  batch: number,
  options: Partial<PostgresTargetOptions> & { readonly maxBacklog?: number } = {},
) {
  const { maxBacklog = 20_000, ...target } = options;
  const pool = new PostgresPool({ host: '127.0.0.1', port, user, password, database, max: 2 });
  const metrics = createMetrics();
  const alerts = alertsFor(metrics);
  const sink = new BatchSink<PostgresRow>(
    {
      ...{ id: 's', name: 'postgres', type: 'postgres-sink', z: 'tab', policy: 'block', maxBacklog },
      limits: { rows: batch, bytes: 64 * 1024 * 1024, waitMs: 20 },
      isFed: () => false,
      random: () => 0,
    },
    new PostgresTarget(pool, {
      table: quotedTable('x'),
      insertTimeoutMs: 10_000,
      conflict: undefined,
      dedup: true,
      ...target,
    }),
    metrics,
    alerts.centre.place({ id: 's', name: 'postgres', type: 'postgres-sink' }),
  );
  let sent = 0;
  const deliver = (payloads: readonly unknown[]): Promise<Outcome>[] =>
    payloads.map(async (payload) => {
      sent += 1;
      const id = `delivery-${sent}`;
      try {
        const value = rowOf(payload);
        await sink.deliver({ id, value, bytes: bytesOf(value), source: 'in' });
        return 'done';
      } catch (error) {
        return error as Error;
      }
    });
  const close = async () => {
    await sink.close(1000);
    await pool.close();
  };
  /** Inserts tried so far. */
  const inserts = async () =>
    Number(
      /sluice_delivery_duration_seconds_count\{sink="postgres"\} (\d+)/.exec(await metrics.render())?.[1],
    );
  return { sink, alerts, deliver, inserts, close };
}
