import { CHUNK_BYTES, type Chunks } from './sqlite-chunks';
import type { Counters } from './sqlite-counters';
import type { RememberedKeys } from './sqlite-keys';
import { FRAME_BYTES, type AppendBatch } from './sqlite-wire';

export interface Stored {
  readonly firstSeq: number;
  readonly duplicates: readonly (readonly [index: number, seq: number])[] | undefined;
}

/** Puts a batch's records into chunks and counts them, in runs between those whose key is known already. */
export function takeIn(
  batch: AppendBatch,
  {
    counters,
    chunks,
    keys,
  }: { readonly counters: Counters; readonly chunks: Chunks; readonly keys: RememberedKeys },
  now: number,
): Stored {
  const frames = Buffer.from(batch.frames);
  const firstSeq = counters.next;
  const duplicates: (readonly [number, number])[] = [];
  let run = { from: 0, first: firstSeq };
  let at = 0;
  const endRun = (nextFrom: number) => {
    const count = counters.next - run.first;
    if (count > 0) chunks.add(frames.subarray(run.from, at), run.first, count, now);
    run = { from: nextFrom, first: counters.next };
  };
  for (let index = 0; index < batch.count; index++) {
    const bytes = frames.readUInt32LE(at);
    const end = at + FRAME_BYTES + bytes;
    const key = batch.keys?.[index];
    const known = key === undefined ? undefined : keys.seqOf(key, batch.keysSince?.[index]);
    if (known !== undefined) {
      endRun(end);
      duplicates.push([index, known]);
    } else {
      if (end - run.from > CHUNK_BYTES) endRun(at);
      if (key !== undefined) keys.add(key, counters.next);
      counters.next++;
      counters.records++;
      counters.bytes += bytes;
    }
    at = end;
  }
  endRun(at);
  return { firstSeq, duplicates: duplicates.length > 0 ? duplicates : undefined };
}
