/** When a batch goes, and how much goes with it. Pure. */

/** Records on their way through the flow get this long although nothing more comes after them. */
export const LINGER_MS = 20;

export interface BatchLimits {
  readonly rows: number;
  readonly bytes: number;
  /** How long the oldest row waits for company. */
  readonly waitMs: number;
}

export interface BatchFill {
  readonly rows: number;
  readonly bytes: number;
  /** How long the oldest row has waited. */
  readonly ageMs: number;
  /** Whoever feeds the sink may have more to give. */
  readonly isFed: boolean;
}

/** Milliseconds until what is there goes; 0 for now, undefined while there is nothing. */
export function dueInMs(fill: BatchFill, limits: BatchLimits): number | undefined {
  if (fill.rows === 0) return undefined;
  if (fill.rows >= limits.rows || fill.bytes >= limits.bytes) return 0;
  const waitMs = fill.isFed ? limits.waitMs : Math.min(LINGER_MS, limits.waitMs);
  return Math.max(0, waitMs - fill.ageMs);
}

/** A test for `takeWhile`: rows that make one batch, one at least, however large it is. */
export function fitsInto(limits: BatchLimits): (row: { readonly bytes: number }) => boolean {
  let rows = 0;
  let bytes = 0;
  return (row) => {
    rows += 1;
    bytes += row.bytes;
    return rows === 1 || (rows <= limits.rows && bytes <= limits.bytes);
  };
}
