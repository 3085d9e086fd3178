import type { Verdict } from '../delivery/verdict';
import { isRefusal } from './drain-settlement';

/** A full sink that is learned of only by its refusals must not cycle the whole queue through them. */
const REFUSED_PAUSE_MS = 100;
/** As many failures in a row, with nothing delivered in between, and the destination is taken for dead. */
const DEAD_AFTER = 16;
/** A dead destination is asked once in this time. */
const PROBE_PAUSE_MS = 1000;

/**
 * When the next delivery may start and how many may be out, from how the last ones ended. While a destination is dead,
 * one record at a time asks for it, instead of the whole backlog failing over and over; the first success opens the
 * window again, twice as far with each one. A pause is at most `retryInitialMs`, so that records for other
 * destinations of the same queue get their turn.
 */
export class DrainPace {
  #holdOffUntil = 0;
  #failedInARow = 0;
  #window: number;

  constructor(
    public maxInFlight: number,
    readonly retryInitialMs: number,
  ) {
    this.#window = maxInFlight;
  }

  /** Ms until the next delivery may start; `now` is Unix ms. A pause that seems longer than any was set by another clock. */
  waitMs(now: number): number {
    const left = this.#holdOffUntil - now;
    return left > this.retryInitialMs ? 0 : Math.max(0, left);
  }

  /** Records that may be out at once now. */
  get window(): number {
    return this.#window;
  }

  note(verdict: Verdict, now: number): void {
    // What aborted it (a deploy, nothing alive at the output) would abort the others too.
    if (verdict.kind === 'aborted') return this.#holdOff(now, this.retryInitialMs);
    if (isRefusal(verdict)) return this.#holdOff(now, REFUSED_PAUSE_MS);
    const answered =
      verdict.kind === 'done' || (verdict.kind === 'failed' && verdict.failure === 'permanent');
    if (answered) {
      this.#failedInARow = 0;
      this.#window = Math.min(this.maxInFlight, this.#window * 2);
      return;
    }
    this.#failedInARow += 1;
    if (this.#failedInARow < DEAD_AFTER) return;
    this.#window = 1;
    this.#holdOff(now, PROBE_PAUSE_MS);
  }

  /** The flows run again: what held deliveries off is over. */
  reset(): void {
    this.#holdOffUntil = 0;
    this.#failedInARow = 0;
    this.#window = this.maxInFlight;
  }

  #holdOff(now: number, ms: number): void {
    this.#holdOffUntil = Math.max(this.#holdOffUntil, now + Math.min(ms, this.retryInitialMs));
  }
}
