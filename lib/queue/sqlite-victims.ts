import type { Chunks } from './sqlite-chunks';
import type { Outgoing } from './sqlite-outgoing';
import type { ParkedRows } from './sqlite-parked';

/** A record to delete for room, and whether it is parked. */
export type Victim = readonly [seq: number, parked: boolean];

/**
 * Records to delete for room, oldest first: parked, queued, and only then those on lease, whose settlement is ignored
 * later. Never `newest`. Each is to be deleted before the next is asked for; `missing` is how many bytes it still takes.
 */
export function* victims(
  { chunks, parked, out }: { readonly chunks: Chunks; readonly parked: ParkedRows; readonly out: Outgoing },
  { newest, parkedWaiting }: { readonly newest: number; readonly parkedWaiting: boolean },
  missing: () => number,
): Generator<Victim> {
  const { leases } = out;
  if (parkedWaiting) for (const seq of parked.oldest(missing(), leases)) yield [seq, true];
  while (missing() > 0 && out.cursor < newest) {
    const chunk = chunks.from(out.cursor);
    if (!chunk) break;
    let seq = Math.max(out.cursor, chunk.first);
    for (; seq < chunk.end && seq < newest && missing() > 0; seq++) {
      if (!chunk.isSettled(seq) && !leases.has(seq)) yield [seq, false];
    }
    out.cursor = seq;
  }
  if (missing() <= 0) return;
  for (const seq of leases.oldestFirst()) {
    if (missing() <= 0) return;
    const isParked = out.end(seq);
    if (isParked !== undefined) yield [seq, isParked];
  }
}
