import type { SinkStatus } from '#lib/delivery/contract';
import type { Mood } from '#lib/node-red/status';

/** What the node shows: a mood and a key under `rest-sink.status`, or the label of what went wrong last. */
export interface Look {
  readonly mood: Mood;
  readonly key?: 'full' | 'paused' | 'sending' | 'ready';
  readonly label?: string;
}

/** The most urgent first: refusing, told to wait, failing, busy, ready. */
export function lookOf(
  { backlog, max_backlog: bound, requests, paused_secs: pausedSecs }: SinkStatus,
  failure: string | undefined,
): Look {
  if (Number(backlog) >= Number(bound)) return { mood: 'down', key: 'full' };
  if (Number(pausedSecs) > 0) return { mood: 'waiting', key: 'paused' };
  if (failure !== undefined) return { mood: 'down', label: failure };
  if (Number(requests) + Number(backlog) > 0) return { mood: 'working', key: 'sending' };
  return { mood: 'ok', key: 'ready' };
}
