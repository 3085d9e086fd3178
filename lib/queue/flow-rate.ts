const BUCKET_MS = 1000;
const BUCKETS = 30;

/**
 * How fast bytes come into a queue or leave it, measured over the last 30 seconds. The clock is monotonic or Unix
 * milliseconds, as long as it is one of them.
 */
export class FlowRate {
  readonly #buckets = new Float64Array(BUCKETS);
  #newest: number;
  #startedAt: number;

  constructor(readonly now: () => number) {
    this.#startedAt = now();
    this.#newest = Math.floor(this.#startedAt / BUCKET_MS);
  }

  add(bytes: number): void {
    this.#advance();
    this.#buckets[this.#newest % BUCKETS] = (this.#buckets[this.#newest % BUCKETS] ?? 0) + bytes;
  }

  bytesPerSec(): number {
    this.#advance();
    const passed = this.#buckets.reduce((sum, bytes) => sum + bytes, 0);
    const spanMs = Math.min(this.now() - this.#startedAt, BUCKETS * BUCKET_MS);
    return passed / Math.max(1, spanMs / 1000);
  }

  #advance(): void {
    const current = Math.floor(this.now() / BUCKET_MS);
    if (current < this.#newest - 1) {
      // The clock was set back: what was measured by it tells nothing.
      this.#buckets.fill(0);
      this.#startedAt = this.now();
      this.#newest = current;
    }
    const passed = Math.min(BUCKETS, current - this.#newest);
    for (let step = 1; step <= passed; step++) this.#buckets[(this.#newest + step) % BUCKETS] = 0;
    if (passed > 0) this.#newest = current;
  }
}

/** Seconds until `room` bytes are used up at these rates; undefined while the queue isn't filling up. */
export function secsToFull(room: number, inPerSec: number, outPerSec: number): number | undefined {
  if (room <= 0) return 0;
  return inPerSec > outPerSec ? room / (inPerSec - outPerSec) : undefined;
}
