import type { FullPolicy, SinkStatus } from '../delivery/contract';
import type { Level } from '../alert/levels';
import type { QueueCounts } from './contract';

/** What a push queue knows of itself. */
export interface QueueFigures {
  readonly queue: string;
  readonly policy: FullPolicy;
  readonly quotaBytes: number;
  readonly usedBytes: number;
  readonly level: Level;
  readonly secsToFull: number | undefined;
  /** Of the store, once it is open. */
  readonly counts: QueueCounts | undefined;
  /** Dead letters kept elsewhere. */
  readonly deadElsewhere: number;
  readonly fault: Error | undefined;
  /** Of its file; `opening` while it was never open yet. */
  readonly state: 'opening' | 'open' | 'failed';
  /** Records since the node started: refused, stored, delivered, and those that could not be written. */
  readonly blocked: number;
  readonly stored: number;
  readonly delivered: number;
  readonly writeErrors: number;
  /** Unix ms. */
  readonly now: number;
}

/** Its entry in the status document. */
export function statusOfQueue(figures: QueueFigures): SinkStatus {
  const { counts, fault, level, policy, quotaBytes, usedBytes, blocked, now } = figures;
  const evicted = counts?.evictedTotal ?? 0;
  return {
    queue: figures.queue,
    state: figures.state,
    level,
    dropped: evicted,
    blocked,
    delivered: figures.stored,
    on_full: policy,
    quota_bytes: quotaBytes,
    full_in_secs: figures.secsToFull === undefined ? null : Math.floor(figures.secsToFull),
    fill_pct: quotaBytes > 0 ? Math.floor((usedBytes * 1000) / quotaBytes) / 10 : 0,
    blocking: policy === 'block' && level === 'full',
    blocked_total: blocked,
    evicted_total: evicted,
    bytes: usedBytes,
    records: counts?.records ?? 0,
    parked: counts?.parked ?? 0,
    dead: (counts?.dead ?? 0) + figures.deadElsewhere,
    dead_trimmed_total: counts?.deadTrimmedTotal ?? 0,
    oldest_age_secs: ageSecs(counts?.oldestStoredAt, now),
    forwarded_total: figures.delivered,
    write_errors_total: figures.writeErrors,
    fault: fault === undefined ? null : 'code' in fault ? fault.code : fault.message,
  };
}

function ageSecs(storedAt: number | undefined, now: number): number {
  return storedAt === undefined ? 0 : Math.max(0, Math.floor((now - storedAt) / 1000));
}
