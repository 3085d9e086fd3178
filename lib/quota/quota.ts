/**
 * Synchronous accounting of one bound in one unit (bytes or records). Room is taken before the work that needs it
 * starts, so a burst can't overshoot the limit while a writer is still busy (O13).
 *
 * `used` is what is stored or on its way to the store; `held` is what was admitted at the door and hasn't arrived.
 */
export class Quota {
  #used = 0;
  #held = 0;

  /** `limit` may be changed at any time; lowering it below `used` refuses until enough is freed. */
  constructor(public limit: number) {}

  get used(): number {
    return this.#used;
  }

  get held(): number {
    return this.#held;
  }

  /** Whether `amount` fits now. Anything fits into an empty quota: a record larger than all of it must not wedge (O14). */
  canTake(amount: number): boolean {
    const taken = this.#used + this.#held;
    return taken === 0 || taken + amount <= this.limit;
  }

  /** Keeps room at the door, without asking `canTake`; `release` it when the record arrives or has ended. */
  hold(amount: number): { release(): void } {
    this.#held += amount;
    let open = true;
    return {
      release: () => {
        if (!open) return;
        open = false;
        this.#held -= amount;
      },
    };
  }

  /** Takes `amount` if it fits and says whether it did. Give it back with `free` when it is settled or not stored. */
  reserve(amount: number): boolean {
    if (!this.canTake(amount)) return false;
    this.#used += amount;
    return true;
  }

  /** Takes `amount` whether it fits or not: what a store holds when it opens, or a record exempt from the quota. */
  take(amount: number): void {
    this.#used += amount;
  }

  /** Gives back what `reserve` or `take` took. Never below zero: a miscount must not turn into room that isn't there. */
  free(amount: number): void {
    this.#used = Math.max(0, this.#used - amount);
  }
}
