/** The last so many of something; the oldest gives way. */
export class Ring<Item> {
  #items: Item[] = [];

  constructor(private capacity: number) {}

  push(item: Item): void {
    this.#items.push(item);
    // Trimmed in one go now and then, so that a push costs nothing in between.
    if (this.#items.length > 2 * this.capacity) this.#items = this.newest();
  }

  /** Oldest first. */
  newest(): Item[] {
    return this.capacity === 0 ? [] : this.#items.slice(-this.capacity);
  }

  resize(capacity: number): void {
    this.#items = this.newest();
    this.capacity = capacity;
    this.#items = this.newest();
  }

  clear(): void {
    this.#items = [];
  }
}
