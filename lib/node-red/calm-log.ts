const INTERVAL_MS = 60_000;

/**
 * Writes repeated trouble without flooding the log: the first of a kind at once, then at most once a minute with the
 * number of those that were left out.
 */
export function calmLog(
  write: (text: string) => void,
  now: () => number = Date.now,
): (kind: string, text: string) => void {
  const kinds = new Map<string, { writtenAt: number; leftOut: number }>();
  return (kind, text) => {
    const known = kinds.get(kind);
    if (known && now() - known.writtenAt < INTERVAL_MS) {
      known.leftOut += 1;
      return;
    }
    const more = known && known.leftOut > 0 ? ` (and ${known.leftOut} more like this since)` : '';
    kinds.set(kind, { writtenAt: now(), leftOut: 0 });
    write(text + more);
  };
}
