import type { Mood } from './status';

/** What an HTTP source knows of itself when it shows its status. */
export interface HttpSourceState {
  /** Why the inbox can't be had. */
  readonly fault: Error | undefined;
  readonly isOpening: boolean;
  /** Flows run. */
  readonly isRunning: boolean;
  /** Accepted on receipt and kept, since the flow couldn't handle them. */
  readonly notHandled: number;
  /** Who made records stay with their senders in the last seconds: a sink's name, or `flow`. */
  readonly trouble: string | undefined;
  /** Nodes on the way whose end can't be seen. */
  readonly untrackable: number;
  readonly accepted: number;
}

/** A mood with an error to name, or with a key under `<node type>.status` and the values in it. */
export type HttpSourceLook =
  | { readonly mood: Mood; readonly fault: Error }
  | { readonly mood: Mood; readonly key: string; readonly values?: Readonly<Record<string, unknown>> };

/** The most urgent first: what is broken, what waits for an operator, what passes. */
export function httpSourceLook(state: HttpSourceState): HttpSourceLook {
  const { fault, notHandled, trouble, untrackable, accepted } = state;
  if (fault) return { mood: 'down', fault };
  if (state.isOpening) return { mood: 'waiting', key: 'opening' };
  if (notHandled > 0) return { mood: 'down', key: 'notHandled', values: { count: notHandled } };
  if (!state.isRunning) return { mood: 'waiting', key: 'paused' };
  if (trouble !== undefined && trouble !== 'flow') {
    return { mood: 'down', key: 'refusing', values: { sink: trouble } };
  }
  // Where outcomes are unknown, that is why records aren't done.
  if (untrackable > 0) return { mood: 'waiting', key: 'untrackable', values: { count: untrackable } };
  if (trouble === 'flow') return { mood: 'down', key: 'notDone' };
  return { mood: 'ok', key: 'accepted', values: { count: accepted } };
}
