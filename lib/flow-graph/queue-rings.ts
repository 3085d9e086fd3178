/**
 * Queues that feed each other. A queue's output waits while a sink that it surely reaches can't take a record, but never
 * for itself nor for a queue that waits for it in turn: a full ring would stand still for ever.
 */

/** Queue id -> the sinks its output surely reaches (`Reach.certain`). */
export type CertainReach = ReadonlyMap<string, readonly string[]>;

function queuesBehind(start: string, certain: CertainReach): Set<string> {
  const behind = new Set<string>();
  const work = [start];
  for (let at = work.pop(); at !== undefined; at = work.pop()) {
    for (const next of certain.get(at) ?? []) {
      if (!certain.has(next) || behind.has(next)) continue;
      behind.add(next);
      work.push(next);
    }
  }
  return behind;
}

/** For each queue, those in a ring with it (over any number of queues), itself included when its records come back. */
export function queueRings(certain: CertainReach): Map<string, ReadonlySet<string>> {
  const behind = new Map([...certain.keys()].map((queue) => [queue, queuesBehind(queue, certain)]));
  return new Map(
    [...behind].map(([queue, others]) => [
      queue,
      new Set([...others].filter((other) => behind.get(other)?.has(queue))),
    ]),
  );
}

/** The sinks that a queue's output waits for. */
export function awaitedSinks(queue: string, certain: CertainReach): string[] {
  const ring = queueRings(certain).get(queue);
  return (certain.get(queue) ?? []).filter((sink) => sink !== queue && !ring?.has(sink));
}
