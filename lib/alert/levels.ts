/**
 * The alert state machine of one bounded queue: a level from numbers, and the notices that its changes are worth.
 * Pure; whoever checks a queue keeps its `AlertState` and its own clock.
 */
export type Level = 'ok' | 'high' | 'full';

export interface Fill {
  /** Used and limit in the queue's unit, bytes or records. A limit of 0 is none: such a queue is always ok. */
  readonly used: number;
  readonly limit: number;
  /** Records refused or evicted since the last check. */
  readonly refusedOrEvictedSinceLastCheck: number;
  /** Percentage of the limit from which on the level is `high`. */
  readonly highPct?: number;
}

/** Exact at the boundaries: compares the numbers themselves, never a rounded percentage. */
export function levelOf({ used, limit, refusedOrEvictedSinceLastCheck, highPct = 80 }: Fill): Level {
  if (limit <= 0) return 'ok';
  if (used >= limit || refusedOrEvictedSinceLastCheck > 0) return 'full';
  return used * 100 >= limit * highPct ? 'high' : 'ok';
}

export interface Notice {
  readonly level: Level;
  readonly severity: 'info' | 'warning' | 'critical';
  /** The level was announced before and still lasts. */
  readonly repeat: boolean;
}

export interface AlertState {
  readonly level: Level;
  /** When the last `full` notice was given, in the checker's milliseconds. */
  readonly fullNoticeAt: number | undefined;
}

export const INITIAL_ALERT: AlertState = { level: 'ok', fullNoticeAt: undefined };

/**
 * One check. `high` is announced once on the way up, `full` once and again every `repeatMs` while it lasts (one repeat
 * after a long gap, not one per missed interval), `ok` once as recovery. Falling from `full` to `high` is silent; from
 * there back to `full` within `repeatMs` of the last notice is silent too, so that a queue swinging around its limit
 * doesn't ring at each swing. `nowMs` must be monotonic: a jump of the wall clock isn't an outage.
 */
export function checkAlert(
  state: AlertState,
  level: Level,
  nowMs: number,
  repeatMs = 600_000,
): { readonly state: AlertState; readonly notice: Notice | undefined } {
  if (level === 'ok') {
    const recovered = state.level !== 'ok';
    return {
      state: INITIAL_ALERT,
      notice: recovered ? { level, severity: 'info', repeat: false } : undefined,
    };
  }
  if (level === 'high') {
    const rising = state.level === 'ok';
    return {
      state: { level, fullNoticeAt: state.fullNoticeAt },
      notice: rising ? { level, severity: 'warning', repeat: false } : undefined,
    };
  }
  const { fullNoticeAt } = state;
  if (fullNoticeAt !== undefined && nowMs - fullNoticeAt < repeatMs) {
    return { state: { level, fullNoticeAt }, notice: undefined };
  }
  return {
    state: { level, fullNoticeAt: nowMs },
    notice: { level, severity: 'critical', repeat: fullNoticeAt !== undefined && state.level === 'full' },
  };
}
