import { checkAlert, INITIAL_ALERT, levelOf, type AlertState, type Level, type Notice } from './levels';

/** A bounded queue's numbers, in its own unit; `refusedOrEvicted` only grows. */
export interface Gauge {
  readonly used: number;
  readonly limit: number;
  readonly refusedOrEvicted: number;
}

/** Keeps the alert state of one bounded queue between checks. */
export class Alarm {
  #state: AlertState = INITIAL_ALERT;
  #seen = 0;

  constructor(
    private readonly read: () => Gauge,
    private readonly repeatMs = 600_000,
  ) {}

  /** The level now, with what happened since the last check; reading it consumes nothing. */
  get level(): Level {
    const { used, limit, refusedOrEvicted } = this.read();
    return levelOf({ used, limit, refusedOrEvictedSinceLastCheck: refusedOrEvicted - this.#seen });
  }

  /** One periodic check. `nowMs` is monotonic. */
  check(nowMs: number): Notice | undefined {
    const { level } = this;
    this.#seen = this.read().refusedOrEvicted;
    const { state, notice } = checkAlert(this.#state, level, nowMs, this.repeatMs);
    this.#state = state;
    return notice;
  }
}
