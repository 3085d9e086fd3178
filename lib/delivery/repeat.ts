import type { TrackedRecord } from './entry';
import type { Repeat } from './lineage/contract';

/**
 * How sinks recognise a record of an HTTP source when it comes again. One in the inbox comes again from its row alone.
 * Any other comes again when its sender sends it again, which counts as the same record for as long as the source
 * recognises duplicates (`dedupeMs`); undefined where it doesn't.
 */
export function repeatOf(record: TrackedRecord, dedupeMs: number): Repeat | undefined {
  const { row, receivedAt, message } = record;
  // The time, too: ids of an empty inbox start again at 1.
  if (row !== undefined) return { scope: `inbox ${row}`, since: receivedAt };
  if (dedupeMs <= 0) return undefined;
  // A copy: the first node may change the headers in place.
  const headers = { ...(message['headers'] as Record<string, unknown> | undefined) };
  return { scope: '', since: receivedAt - dedupeMs, headers };
}
