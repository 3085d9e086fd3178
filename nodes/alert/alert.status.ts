import type { Verdict } from '#lib/delivery/verdict';
import type { Mood } from '#lib/node-red/status';

interface AlertNodeState {
  readonly isWired: boolean;
  /** How the last delivery ended, if not well. */
  readonly failed: Verdict | undefined;
  /** Alerts still to deliver. */
  readonly waiting: number;
  /** Conditions that this node has told of and that last. */
  readonly open: number;
}

/** A mood and a key under `alert.status`: first that alerts don't arrive, then what they are about. */
export function lookOf({ isWired, failed, waiting, open }: AlertNodeState): {
  readonly mood: Mood;
  readonly key: 'notWired' | 'notDelivered' | 'open' | 'quiet';
  readonly values: Readonly<Record<string, number>>;
} {
  if (!isWired) return { mood: 'waiting', key: 'notWired', values: {} };
  if (failed && waiting > 0) return { mood: 'down', key: 'notDelivered', values: { count: waiting } };
  if (open > 0) return { mood: 'down', key: 'open', values: { count: open } };
  return { mood: 'ok', key: 'quiet', values: {} };
}
