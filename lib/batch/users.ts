/**
 * Who still needs something that they share. Node-RED closes a configuration node in the same turn of the event loop as
 * the nodes that refer to it, and those may have rows to store yet.
 */
export class Users {
  #count = 0;
  readonly #waiting: (() => void)[] = [];

  /** Counts a user in. The function it gives counts it out; calling that again does nothing. */
  add(): () => void {
    this.#count += 1;
    let isCounted = true;
    return () => {
      if (!isCounted) return;
      isCounted = false;
      this.#count -= 1;
      if (this.#count === 0) for (const resolve of this.#waiting.splice(0)) resolve();
    };
  }

  /** Resolves when there is no user left. */
  async gone(): Promise<void> {
    if (this.#count > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
