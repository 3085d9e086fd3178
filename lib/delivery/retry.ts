/** When to try again: backoff of a failed delivery, and Retry-After in both directions. Pure. */

/** A destination may ask for any wait; longer ones are cut to a day, so that a wrong clock can't stop a sink for good. */
export const MAX_RETRY_AFTER_MS = 24 * 3600 * 1000;

interface Backoff {
  /** Failed attempts so far, from 1. */
  readonly attempt: number;
  readonly initialMs: number;
  readonly maxMs: number;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Wait the destination asked for. */
  readonly retryAfterMs?: number | undefined;
}

/**
 * Milliseconds until the next attempt. The step doubles from `initialMs` up to `maxMs`; the delay is uniform in
 * [step / 2, step), so that records which failed together don't come back together and none comes back at once.
 * A longer `retryAfterMs` replaces it, spread upwards by at most `initialMs`: never earlier than asked.
 */
export function nextDelayMs({ attempt, initialMs, maxMs, random, retryAfterMs = 0 }: Backoff): number {
  const step = Math.min(maxMs, initialMs * 2 ** Math.max(0, attempt - 1));
  const delay = Math.round((step / 2) * (1 + random()));
  const asked = Math.min(Math.max(0, retryAfterMs), MAX_RETRY_AFTER_MS);
  return asked > delay ? Math.ceil(asked + random() * initialMs) : delay;
}

/** No origin is sent away for longer: rates change. */
const MAX_RETRY_SECS = 300;

/**
 * Whole seconds after which a refused origin should come back, 1 to 300, from how long the room it needs takes to come free
 * at the measured rate. Up to a fifth and a second longer, so that origins which were refused together don't return together.
 */
export function refusalRetrySecs(drainMs: number, random: () => number): number {
  const secs = (drainMs / 1000) * (1 + random() / 5) + random();
  return Math.min(MAX_RETRY_SECS, Math.max(1, Math.ceil(secs)));
}

// The three date forms of RFC 9110 5.6.7 all start with a weekday; `Date.parse` alone would take almost anything.
const HTTP_DATE = /^(mon|tue|wed|thu|fri|sat|sun)[a-z]*,? /i;

/**
 * Milliseconds that a Retry-After header asks to wait from `nowMs` (Unix) on: delay seconds or an HTTP date (RFC 9110
 * 10.2.3). 0 for a date that has passed, at most a day; undefined for a missing or unreadable one.
 */
export function readRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  const value = header?.trim() ?? '';
  if (/^\d+$/.test(value)) return Math.min(Number(value) * 1000, MAX_RETRY_AFTER_MS);
  if (!HTTP_DATE.test(value)) return undefined;
  // asctime carries no zone but means GMT like the others.
  const at = Date.parse(/gmt|[+-]\d{4}$/i.test(value) ? value : `${value} GMT`);
  return Number.isNaN(at) ? undefined : Math.min(Math.max(0, at - nowMs), MAX_RETRY_AFTER_MS);
}
