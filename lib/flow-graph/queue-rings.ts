/**
 * Queues that feed each other. A queue's output waits while a sink that it surely reaches can't take a record, but never
 * for itself nor for a queue that waits for it in turn: a full ring would stand still for ever.
 */

/** Queue id -> the sinks its output surely reaches (`Reach.certain`). */
export type CertainReach = ReadonlyMap<string, readonly string[]>;

function reachable(start: string, next: (queue: string) => readonly string[]): Set<string> {
  const found = new Set<string>();
  const work = [start];
  for (let at = work.pop(); at !== undefined; at = work.pop()) {
    for (const queue of next(at)) {
      if (found.has(queue)) continue;
      found.add(queue);
      work.push(queue);
    }
  }
  return found;
}

/** The queues in a ring with this one, over any number of others; itself included when its records come back to it. */
export function queueRing(queue: string, certain: CertainReach): ReadonlySet<string> {
  const feeders = new Map<string, string[]>();
  for (const [from, sinks] of certain) {
    for (const to of sinks) {
      const known = feeders.get(to);
      if (known) known.push(from);
      else feeders.set(to, [from]);
    }
  }
  const fed = reachable(queue, (at) => certain.get(at) ?? []);
  const feeding = reachable(queue, (at) => feeders.get(at) ?? []);
  return new Set([...fed].filter((other) => feeding.has(other)));
}

/** The sinks that a queue's output waits for. */
export function awaitedSinks(queue: string, certain: CertainReach): string[] {
  const ring = queueRing(queue, certain);
  return (certain.get(queue) ?? []).filter((sink) => sink !== queue && !ring.has(sink));
}
