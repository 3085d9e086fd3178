export interface SeededRandom {
  readonly seed: number;
  /** Uniform in [0, 1), the same sequence for the same seed. */
  random(): number;
}

/** A random sequence that can be repeated: from the seed given as text, else from a new one. */
export function randomFrom(given: string | undefined): SeededRandom {
  const seed = given === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(given) >>> 0;
  let state = seed;
  return {
    seed,
    // mulberry32
    random() {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    },
  };
}
