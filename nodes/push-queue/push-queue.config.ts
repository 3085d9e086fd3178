import { choice, flag, number, text, type Conflict, type Fields } from '#lib/config/fields';

export interface PushQueueConfig {
  name: string;
  /** Names the file (`push_queue.db` for `push`, else `<queue>_queue.db`) and the queue in metrics. Unique. */
  queue: string;
  /** Id of a `sluice-store`; empty: SQLite in the data directory. */
  store: string;
  /** Off: records are kept in memory only, 16 MB of them, and lost on a restart. */
  enabled: boolean;
  /** Bound of the stored payload bytes, in units of 1024 * 1024. */
  maxQuotaMb: number;
  /** At the quota: delete the oldest records to make room, or refuse the new one. */
  onFull: 'evict_oldest' | 'block';
  /** Records out for delivery at once; 0: sized from the sinks that the output reaches. */
  maxInFlight: number;
  ordering: 'none' | 'key' | 'fifo';
  /** Message property whose value makes a lane with `ordering: key`. */
  keyProperty: string;
  /** Deliveries of a record before it goes to the dead letters; 0: transient failures are tried for ever. */
  maxAttempts: number;
  retryInitialMs: number;
  retryMaxMs: number;
  /** Without a verdict after this, a delivery's outcome is unknown. */
  deliveryTimeoutMs: number;
  /** Unknown outcomes in a row before a record goes to the dead letters. */
  maxUnknown: number;
  /** Count a delivery as done when it met nodes that never report completion. */
  treatLegacyAsDone: boolean;
}

const FILE_NAME_SEGMENT = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$/;

export const fields: Fields<PushQueueConfig> = {
  name: text(),
  queue: text('push', { required: true, pattern: FILE_NAME_SEGMENT }),
  store: text(),
  enabled: flag(true),
  maxQuotaMb: number(2000, { fraction: true }),
  onFull: choice('evict_oldest', ['evict_oldest', 'block']),
  maxInFlight: number(0, { max: 100_000 }),
  ordering: choice('none', ['none', 'key', 'fifo']),
  keyProperty: text('topic'),
  maxAttempts: number(0),
  retryInitialMs: number(1000, { min: 1, max: 86_400_000 }),
  retryMaxMs: number(60_000, { min: 1, max: 86_400_000 }),
  deliveryTimeoutMs: number(60_000, { min: 1, max: 86_400_000 }),
  maxUnknown: number(5, { min: 1 }),
  treatLegacyAsDone: flag(false),
};

/** Rules over several properties; the runtime refuses to start on one, the form marks it. */
export function problemsOf(config: PushQueueConfig): Conflict<PushQueueConfig>[] {
  const problems: Conflict<PushQueueConfig>[] = [];
  if (config.onFull === 'block' && !config.enabled) {
    problems.push({
      property: 'onFull',
      key: 'blockNeedsEnabled',
      text: '"block" needs enabled = true: only a durable queue may hold back its sources',
    });
  }
  if (config.onFull === 'block' && !(config.maxQuotaMb > 0)) {
    problems.push({
      property: 'maxQuotaMb',
      key: 'blockNeedsQuota',
      text: 'must be more than 0 with onFull "block"',
    });
  }
  if (config.retryMaxMs < config.retryInitialMs) {
    problems.push({
      property: 'retryMaxMs',
      key: 'retryMaxBelowInitial',
      text: 'must not be less than retryInitialMs',
    });
  }
  return problems;
}
