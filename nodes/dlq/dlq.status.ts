import type { Halt } from '#lib/dead-letter/contract';
import type { OnError } from '#lib/dead-letter/rules';
import type { Mood } from '#lib/node-red/status';

interface Shown {
  readonly onError: OnError;
  readonly halt: Halt | undefined;
  readonly fault: Error | undefined;
  /** Failures since the start. */
  readonly total: number;
  readonly sinkFailures: number;
}

/** A key under `dlq.status` of the locale files, with what to show in it; or an error to name. */
type Look =
  | { readonly mood: Mood; readonly key: string; readonly values?: Readonly<Record<string, unknown>> }
  | { readonly mood: Mood; readonly fault: Error };

/** As much of the cause as fits beside the word before it. */
const CAUSE_CHARACTERS = 60;

/** What the node shows: a rule that is stopped first, then a store that can't keep anything, then what was kept. */
export function lookOf({ onError, halt, fault, total, sinkFailures }: Shown): Look {
  if (halt) {
    return { mood: 'down', key: 'stopped', values: { error: halt.cause.error.slice(0, CAUSE_CHARACTERS) } };
  }
  if (fault && onError !== 'drop') return { mood: 'down', fault };
  if (sinkFailures > 0) return { mood: 'waiting', key: 'notSentOn', values: { count: sinkFailures } };
  if (total === 0) return { mood: 'ok', key: 'none' };
  if (onError === 'drop') return { mood: 'idle', key: 'dropped', values: { count: total } };
  return { mood: 'ok', key: 'kept', values: { count: total } };
}
