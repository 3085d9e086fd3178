/** A wait that can be ended early. */
export class Pause {
  #timer: NodeJS.Timeout | undefined;
  #until = 0;
  #resolve: (() => void) | undefined;

  get leftMs(): number {
    return this.#resolve ? Math.max(0, this.#until - performance.now()) : 0;
  }

  wait(delayMs: number): Promise<void> {
    this.#until = performance.now() + delayMs;
    return new Promise((resolve) => {
      this.#resolve = resolve;
      this.#timer = setTimeout(() => this.end(), delayMs);
    });
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#resolve?.();
    this.#resolve = undefined;
  }
}
