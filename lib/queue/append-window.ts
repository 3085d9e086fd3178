/** Records and bytes that may wait for one commit; a stalled disk must not turn memory into the queue (O64). */
const MAX_RECORDS = 8192;
const MAX_BYTES = 64 * 1024 * 1024;

/** What was handed to a store and isn't committed yet. */
export class AppendWindow {
  readonly #appends = new Set<Promise<unknown>>();
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** As with a quota, a record alone always passes, however large. */
  canTake(bytes: number, records: number): boolean {
    const waiting = this.#appends.size;
    return waiting + records <= MAX_RECORDS && (waiting === 0 || this.#bytes + bytes <= MAX_BYTES);
  }

  /** Follows an append; it has left the window when the returned promise settles. */
  async follow<T>(bytes: number, append: Promise<T>): Promise<T> {
    this.#appends.add(append);
    this.#bytes += bytes;
    try {
      return await append;
    } finally {
      this.#appends.delete(append);
      this.#bytes -= bytes;
    }
  }

  /** Resolves when nothing waits any more, whatever became of it. */
  async empty(): Promise<void> {
    await Promise.allSettled(this.#appends);
  }
}
