import type { Verdict } from '../delivery/verdict';
import type { LeasedRecord, QueueStore, Settlement } from './contract';
import type { RetryPolicy } from './drain-settlement';

/**
 * Whether the output can deliver: a sink that it surely reaches may be full, nothing alive may be wired to it, or a rule
 * on its way be stopped.
 */
export type Readiness = 'ready' | 'sink_full' | 'no_destination' | 'stopped';

export type DrainState =
  'delivering' | 'idle' | 'retrying' | 'paused' | 'closed' | Exclude<Readiness, 'ready'>;

export type DeadSettlement = Extract<Settlement, { outcome: 'dead' }>;

export interface DrainPolicy extends RetryPolicy {
  readonly maxInFlight: number;
  /** `fifo`: one at a time, in order of arrival; `key`: in order for each `keyOf`. */
  readonly ordering: 'none' | 'key' | 'fifo';
}

export interface DrainTimers {
  set(callback: () => void, ms: number): unknown;
  clear(timer: unknown): void;
}

export interface DrainOptions {
  readonly store: QueueStore;
  readonly policy: DrainPolicy;
  /** Delivers one record. A rejection counts as a transient failure. */
  readonly deliver: (lease: LeasedRecord) => Promise<Verdict>;
  /** Lane of a record with `ordering: key`. */
  readonly keyOf?: (lease: Pick<LeasedRecord, 'seq' | 'record'>) => string;
  /** What `keyOf` reads: a drain that takes a store over keeps the lanes of one with the same name. */
  readonly keyName?: string;
  /** Asked before each record; costs little. */
  readonly readiness: (bytes: number) => Readiness;
  /**
   * Keeps a record that is given up; resolves with whether it is kept elsewhere, so that the store need not. A rejection
   * leaves it in the queue, to be delivered again.
   */
  readonly bury?: (lease: LeasedRecord, dead: DeadSettlement, verdict: Verdict) => Promise<boolean>;
  /** Called once the settlement is durable. */
  readonly onSettled?: (lease: LeasedRecord, settlement: Settlement, verdict: Verdict) => void;
  /** A settlement or lease that the store couldn't do and that is tried again, or a failure of a callback. */
  readonly onError?: (error: Error) => void;
  readonly now?: () => number;
  readonly random?: () => number;
  readonly timers?: DrainTimers;
}
