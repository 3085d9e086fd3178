/**
 * The conservation ledger (N15): every record a source has taken over is somewhere.
 *
 *   carried + accepted = delivered + returned + queued + in flight + dead + dropped + evicted
 *
 * Each of the terms is counted where it happens, none is derived from the others: a difference is a record that nobody
 * accounts for, or that two do. What is on its way between two counters makes a difference for a moment, so only one
 * that stays counts.
 */
export interface Account {
  /** Held from before the counters began: on disk at the start. */
  readonly carried: number;
  readonly accepted: number;
  readonly delivered: number;
  /** Accepted, and then left to the origin after all, which was told so. */
  readonly returned: number;
  readonly queued: number;
  readonly in_flight: number;
  readonly dead: number;
  readonly dropped: number;
  readonly evicted: number;
}

export const EMPTY_ACCOUNT: Account = {
  carried: 0,
  accepted: 0,
  delivered: 0,
  returned: 0,
  queued: 0,
  in_flight: 0,
  dead: 0,
  dropped: 0,
  evicted: 0,
};

/** Counters of an account that only grow, kept by whoever owns the records: longer than a node, whose verdicts may be late. */
export type Tally = {
  -readonly [Name in 'carried' | 'accepted' | 'delivered' | 'returned' | 'dead' | 'evicted']: number;
};

export const newTally = (carried = 0): Tally => ({
  carried,
  accepted: 0,
  delivered: 0,
  returned: 0,
  dead: 0,
  evicted: 0,
});

const NAMES = Object.keys(EMPTY_ACCOUNT) as (keyof Account)[];

export function sumOf(accounts: readonly Account[]): Account {
  const sum = { ...EMPTY_ACCOUNT };
  for (const account of accounts) for (const name of NAMES) sum[name] += account[name];
  return sum;
}

/** Records nobody accounts for; below 0, records that are counted twice. */
export function differenceOf(account: Account): number {
  const { carried, accepted, delivered, returned, queued, in_flight, dead, dropped, evicted } = account;
  return carried + accepted - (delivered + returned + queued + in_flight + dead + dropped + evicted);
}

/** How long a difference has to stay to be one. */
const STEADY_MS = 60_000;

/** What of a difference stays: the least there has been in the last minute, 0 as soon as it balanced once. */
export class SteadyDifference {
  #least = 0;
  #since = Number.NEGATIVE_INFINITY;

  /** One look; `nowMs` is monotonic. Gives the records missing for a minute now. */
  look(difference: number, nowMs: number): number {
    const missing = Math.max(0, difference);
    if (missing === 0 || this.#least === 0) this.#since = nowMs;
    this.#least = this.#least === 0 ? missing : Math.min(this.#least, missing);
    return nowMs - this.#since >= STEADY_MS ? this.#least : 0;
  }
}
