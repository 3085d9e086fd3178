/**
 * Accepted records on the disk that no node takes over after a deploy: their queue or source was removed, renamed or
 * set to something else. They stay where they are, and somebody has to be told.
 */
export class LeftBehind {
  readonly #records = new Map<string, string>();

  /** A node that closes leaves records in `place`; `text` says how many, where, and who would deliver them. */
  leave(place: string, text: string): void {
    this.#records.set(place, text);
  }

  /** A node that starts delivers what is in `place`. */
  takeOver(place: string): void {
    this.#records.delete(place);
  }

  /** What nobody took over in this deploy; told once. */
  told(): string[] {
    const texts = [...this.#records.values()];
    this.#records.clear();
    return texts;
  }
}
