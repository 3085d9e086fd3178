import type { AlertPlace } from '#lib/alert/alert-place';
import type { Verdict } from '#lib/delivery/verdict';
import { codeOf } from '#lib/errors/errors';
import type { Metrics } from '#lib/metrics/metrics';

/** What a push queue tells of itself: to the metrics, and to the alert centre, which logs and alerts. */
export class PushQueueLog {
  constructor(
    /** The node's name: who delivers, in the metrics. */
    readonly name: string,
    readonly queue: string,
    readonly metrics: Pick<Metrics, 'queueGaps' | 'deliveryAttempts'>,
    readonly alerts: AlertPlace,
  ) {}

  evicted(records: number): void {
    this.metrics.queueGaps(this.queue, records);
    this.alerts.lost('evicted', records);
  }

  trimmed(records: number): void {
    this.alerts.lost('dead_trimmed', records);
  }

  /** A write that failed; the store itself may go on. */
  storeError(error: Error): void {
    this.alerts.happened('fault', codeOf(error), error.message);
  }

  /** The store can't be opened or used, or (`undefined`) works again. */
  health(fault: Error | undefined): void {
    if (fault) this.alerts.raise('fault', fault);
    else this.alerts.clear('fault');
  }

  /** The node goes, and with it what it held in memory. */
  discarded(records: number): void {
    if (records > 0) this.alerts.lost('queue_off', records);
  }

  attempt(verdict: Verdict): void {
    this.metrics.deliveryAttempts(this.name, verdict.kind === 'failed' ? verdict.failure : verdict.kind);
  }

  dead(seq: number, reason: string, code: string): void {
    this.alerts.happened('dead', code, `record ${seq}: ${reason}`);
  }
}
