/** Time as the lineage sees it; injected, so that tests can turn the clock. */
export interface Timers {
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  /** Runs `callback` every `periodMs` without keeping the process alive, until the result is called. */
  every(periodMs: number, callback: () => void): () => void;
  /** Runs `callback` in a later turn of the event loop. */
  soon(callback: () => void): void;
}

export const SYSTEM_TIMERS: Timers = {
  now: () => performance.now(),
  every(periodMs, callback) {
    const timer = setInterval(callback, periodMs);
    timer.unref();
    return () => clearInterval(timer);
  },
  soon: (callback) => void setImmediate(callback),
};
