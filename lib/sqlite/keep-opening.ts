/**
 * Opens a file that may not be had yet: a lock that another process still holds, a directory that isn't writable, a
 * full disk. What is wrong is told each time; nobody has to deploy again once it is mended.
 */
const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 30_000;

export interface Opening<Store> {
  /** Rejects only after `cancel`, with the last failure. */
  readonly opened: Promise<Store>;
  /** Tries no more. A try that is under way goes on: `opened` tells how it ended. */
  cancel(): void;
}

export interface RetryTimers {
  set(callback: () => void, ms: number): unknown;
  clear(timer: unknown): void;
}

const REAL_TIMERS: RetryTimers = {
  set: (callback, ms) => setTimeout(callback, ms).unref(),
  clear: (timer) => clearTimeout(timer as NodeJS.Timeout),
};

/** Calls `open` until it succeeds, 1 s after the first failure and 30 s at most after a later one. */
export function keepOpening<Store>(
  open: () => Promise<Store>,
  onFault: (fault: Error) => void,
  timers: RetryTimers = REAL_TIMERS,
): Opening<Store> {
  let cancelled = false;
  let giveUp: (() => void) | undefined;
  let delayMs = FIRST_RETRY_MS;

  const run = async (): Promise<Store> => {
    for (;;) {
      try {
        return await open();
      } catch (cause) {
        const fault = cause instanceof Error ? cause : new Error(String(cause));
        if (cancelled) throw fault;
        onFault(fault);
        await new Promise<void>((resolve) => {
          const timer = timers.set(resolve, delayMs);
          giveUp = () => {
            timers.clear(timer);
            resolve();
          };
        });
        giveUp = undefined;
        delayMs = Math.min(delayMs * 2, LONGEST_RETRY_MS);
        if (cancelled) throw fault;
      }
    }
  };
  const opened = run();
  // Whoever cancels may have nobody left who waits.
  opened.catch(() => undefined);
  return {
    opened,
    cancel() {
      cancelled = true;
      giveUp?.();
    },
  };
}
