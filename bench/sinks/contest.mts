export interface Contest {
  /** Each stores all rows once. */
  readonly ways: Readonly<Record<string, () => Promise<void>>>;
  /** Before each way. */
  readonly empty: () => Promise<void>;
  /** Inserts that isolating one bad row among 1,000 took. */
  readonly insertsForOneBad: () => Promise<number>;
  readonly close: () => Promise<void>;
}

/** A reading of some machine: about 1 KB as JSON. */
export const record = (id: number) => ({
  ...{
    id,
    sensor: `machine-${id % 50}`,
    at: 1_736_235_881 + id,
    temp: 20 + (id % 100) / 7,
    pressure: 1013.25,
  },
  ...{ count: id * 3, state: id % 5, note: 'all is well '.repeat(10), text: 'x'.repeat(600 + (id % 200)) },
});

/** Milliseconds of each way in each round; the order changes from round to round. */
export async function measure(
  { ways, empty }: Contest,
  rounds: number,
): Promise<ReadonlyMap<string, number[]>> {
  const names = Object.keys(ways);
  const times = new Map(names.map((name) => [name, [] as number[]]));
  for (let round = -1; round < rounds; round += 1) {
    for (let index = 0; index < names.length; index += 1) {
      const name = names[(index + round + names.length) % names.length] ?? '';
      await empty();
      globalThis.gc?.();
      const startedAt = performance.now();
      await ways[name]?.();
      // The first round only warms up.
      if (round >= 0) times.get(name)?.push(performance.now() - startedAt);
    }
  }
  return times;
}
