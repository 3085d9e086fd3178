import type { Notice } from '#lib/alert/levels';
import type { FullPolicy } from '#lib/delivery/contract';
import type { Verdict } from '#lib/delivery/verdict';
import { SluiceError } from '#lib/errors/errors';
import type { Metrics } from '#lib/metrics/metrics';
import type { RuntimeNode } from '#lib/node-red/types';

const LOG_EVERY_MS = 10_000;

/**
 * What a push queue tells its operator, in the log and in the metrics. Everything is counted; what could come a
 * thousand times a second is logged at most every ten seconds, with how much it was.
 */
export class PushQueueLog {
  readonly #last = new Map<string, number>();
  #evicted = 0;
  #trimmed = 0;

  constructor(
    readonly node: RuntimeNode,
    readonly queue: string,
    readonly metrics: Metrics,
    /** Not the node's `error`: catch nodes would take it for a failed record. */
    readonly logError: (text: string) => void,
    readonly now: () => number = Date.now,
  ) {}

  evicted(records: number): void {
    this.metrics.queueGaps(this.queue, records);
    this.metrics.recordsDropped(this.queue, 'evicted', records);
    this.#evicted += records;
    this.#seldom('evicted', () => {
      this.node.warn(
        `queue ${this.queue} is at its quota: ${this.#evicted} of its oldest records were deleted`,
      );
      this.#evicted = 0;
    });
  }

  trimmed(records: number): void {
    this.#trimmed += records;
    this.#seldom('trimmed', () => {
      this.node.warn(
        `queue ${this.queue} has more dead letters than it keeps: ${this.#trimmed} of the oldest were deleted`,
      );
      this.#trimmed = 0;
    });
  }

  storeError(error: Error): void {
    const code = error instanceof SluiceError ? `${error.code}: ` : '';
    this.#seldom(`store ${code}`, () => this.logError(`queue ${this.queue}: ${code}${error.message}`));
  }

  health(fault: Error | undefined): void {
    if (fault) this.storeError(fault);
    else this.node.log(`queue ${this.queue} works again`);
  }

  volatile(): void {
    this.node.warn(
      `queue ${this.queue} keeps its records in memory only, at most 16 MB of them, and loses them on a restart: enable it to keep them on disk`,
    );
  }

  discarded(records: number): void {
    if (records === 0) return;
    this.metrics.recordsDropped(this.queue, 'queue_off', records);
    this.node.warn(`queue ${this.queue} was removed with ${records} records in memory; they are lost`);
  }

  attempt(sink: string, verdict: Verdict): void {
    this.metrics.deliveryAttempts(sink, verdict.kind === 'failed' ? verdict.failure : verdict.kind);
    if (verdict.kind !== 'failed' || verdict.failure !== 'config') return;
    this.#seldom('config', () => {
      this.logError(
        `queue ${this.queue} keeps its records, its destination is set up wrongly: ${verdict.error.message}`,
      );
    });
  }

  dead(seq: number, reason: string, code: string): void {
    this.#seldom(`dead ${code}`, () =>
      this.node.warn(`queue ${this.queue}: record ${seq} went to the dead letters: ${code}: ${reason}`),
    );
  }

  notice(notice: Notice | undefined, policy: FullPolicy): void {
    if (notice === undefined) return;
    this.metrics.alertRaised(notice.level);
    const texts = {
      ok: 'has room again',
      high: 'is filling up: the destination is slow or down',
      full:
        policy === 'block'
          ? 'is full: refusing new records'
          : 'is full: evicting the oldest records, data gap',
    };
    const text = `queue ${this.queue} ${texts[notice.level]}`;
    if (notice.severity === 'critical') this.logError(text);
    else if (notice.severity === 'warning') this.node.warn(text);
    else this.node.log(text);
  }

  #seldom(what: string, write: () => void): void {
    const now = this.now();
    const last = this.#last.get(what);
    if (last !== undefined && now - last < LOG_EVERY_MS) return;
    this.#last.set(what, now);
    write();
  }
}
