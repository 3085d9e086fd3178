const BUCKET_MS = 1000;
const BUCKETS = 30;
/** Nothing was delivered lately: how long it takes can't be known, and asking often doesn't help. */
const STALLED_SECS = 10;
const MAX_SECS = 60;

/**
 * How fast a queue empties, measured over the last 30 seconds, and the wait that follows from it for a refused origin.
 * The clock is monotonic or Unix milliseconds, as long as it is one of them.
 */
export class DrainRate {
  readonly #buckets = new Float64Array(BUCKETS);
  #newest: number;
  readonly #startedAt: number;

  constructor(
    readonly now: () => number,
    readonly random: () => number,
  ) {
    this.#startedAt = now();
    this.#newest = Math.floor(this.#startedAt / BUCKET_MS);
  }

  /** Counts bytes that left the queue by delivery. */
  add(bytes: number): void {
    this.#advance();
    this.#buckets[this.#newest % BUCKETS] = (this.#buckets[this.#newest % BUCKETS] ?? 0) + bytes;
  }

  bytesPerSec(): number {
    this.#advance();
    const freed = this.#buckets.reduce((sum, bytes) => sum + bytes, 0);
    const spanMs = Math.min(this.now() - this.#startedAt, BUCKETS * BUCKET_MS);
    return freed / Math.max(1, spanMs / 1000);
  }

  /** Whole seconds, 1 to 60, until about `bytes` will have left; spread by up to a fifth so that origins don't return at once. */
  secsUntilFreed(bytes: number): number {
    const rate = this.bytesPerSec();
    const secs = bytes <= 0 ? 0 : rate > 0 ? bytes / rate : STALLED_SECS;
    const spread = secs * (1 + this.random() / 5) + this.random();
    return Math.min(MAX_SECS, Math.max(1, Math.ceil(spread)));
  }

  #advance(): void {
    const current = Math.floor(this.now() / BUCKET_MS);
    const passed = Math.min(BUCKETS, current - this.#newest);
    for (let step = 1; step <= passed; step++) this.#buckets[(this.#newest + step) % BUCKETS] = 0;
    if (passed > 0) this.#newest = current;
  }
}
