import type { Verdict } from '../delivery/verdict';
import { isRefusal } from './drain-settlement';

/** A full sink that is learned of only by its refusals must not cycle the whole queue through them. */
const REFUSED_PAUSE_MS = 100;
/** A dead destination must not turn the backlog over at full speed: once a whole window has failed in a row. */
const ALL_FAILED_PAUSE_MS = 1000;
const MIN_WINDOW = 16;

/**
 * When the next delivery may start, from how the last ones ended. It only slows down: a pause is at most
 * `retryInitialMs`, so that records for other destinations of the same queue get their turn.
 */
export class DrainPace {
  #holdOffUntil = 0;
  #failedInARow = 0;

  constructor(
    readonly maxInFlight: number,
    readonly retryInitialMs: number,
  ) {}

  get holdOffUntil(): number {
    return this.#holdOffUntil;
  }

  note(verdict: Verdict, now: number): void {
    // What aborted it (a deploy, nothing alive at the output) would abort the others too.
    if (verdict.kind === 'aborted') return this.#holdOff(now, this.retryInitialMs);
    if (isRefusal(verdict)) return this.#holdOff(now, REFUSED_PAUSE_MS);
    const answered =
      verdict.kind === 'done' || (verdict.kind === 'failed' && verdict.failure === 'permanent');
    this.#failedInARow = answered ? 0 : this.#failedInARow + 1;
    if (this.#failedInARow < Math.max(MIN_WINDOW, this.maxInFlight)) return;
    this.#failedInARow = 0;
    this.#holdOff(now, ALL_FAILED_PAUSE_MS);
  }

  /** The flows run again: what held deliveries off is over. */
  reset(): void {
    this.#holdOffUntil = 0;
    this.#failedInARow = 0;
  }

  #holdOff(now: number, ms: number): void {
    this.#holdOffUntil = Math.max(this.#holdOffUntil, now + Math.min(ms, this.retryInitialMs));
  }
}
