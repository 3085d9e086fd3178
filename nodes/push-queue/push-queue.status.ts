import type { SinkStatus } from '#lib/delivery/contract';
import type { Mood } from '#lib/node-red/status';
import type { DrainState } from '#lib/queue/drain-options';

/** A key under `push-queue.status` of the locale files, with what to show in it; or an error to name. */
export type StatusText =
  { readonly key: string; readonly values?: Readonly<Record<string, unknown>> } | { readonly fault: Error };

/** What the node shows: trouble first, then what it waits for, then how much it holds. */
export function statusOf(
  fault: Error | undefined,
  drain: DrainState | undefined,
  sink: SinkStatus,
  untrackable: number,
): readonly [Mood, StatusText] {
  const values = { records: sink['records'], pct: sink['fill_pct'] };
  if (fault !== undefined && 'code' in fault && fault.code === 'ERR_SLUICE_QUEUE_OPENING') {
    return ['waiting', { key: 'opening' }];
  }
  if (fault !== undefined) return ['down', { fault }];
  if (sink.level === 'full')
    return ['down', { key: sink['on_full'] === 'block' ? 'refusing' : 'evicting', values }];
  if (sink['records'] !== 0) {
    if (drain === 'stopped') return ['down', { key: 'stopped', values }];
    if (drain === 'no_destination') return ['waiting', { key: 'noDestination', values }];
    if (drain === 'sink_full') return ['waiting', { key: 'sinkFull', values }];
    if (drain === 'retrying') return ['waiting', { key: 'retrying', values }];
  }
  const dead = sink['dead'];
  if (typeof dead === 'number' && dead > 0) return ['waiting', { key: 'dead', values: { count: dead } }];
  if (untrackable > 0) return ['waiting', { key: 'untrackable', values: { count: untrackable } }];
  if (sink['records'] === 0) return ['ok', { key: 'empty' }];
  return ['ok', { key: 'holding', values }];
}
