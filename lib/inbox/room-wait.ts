/** For room that others give back; waiting here costs a look at a counter: no need to wait as long as a sender is asked to. */
const ROOM_CHECK_MS = 500;

/**
 * How a runner waits for room at the sinks: until one of its own records has ended, or for a while. How many rows it may
 * read grows from one again then, so that a little room doesn't cost reading a whole window of them each time.
 */
export class RoomWait {
  #timer: NodeJS.Timeout | undefined;
  #rows = Infinity;

  /** `look` is called when it's time to look for room. */
  constructor(private readonly look: () => void) {}

  get waits(): boolean {
    return this.#timer !== undefined;
  }

  /** Rows to read at most. */
  get rows(): number {
    return this.#rows;
  }

  /** There was no room. */
  begin(): void {
    this.#rows = 1;
    this.#timer ??= setTimeout(() => this.end(), ROOM_CHECK_MS).unref();
  }

  /** There may be room: looks at once if it was waited for; says whether it was. */
  end(): boolean {
    if (!this.waits) return false;
    this.cancel();
    this.look();
    return true;
  }

  /** All that was read had room. */
  ease(): void {
    this.#rows *= 2;
  }

  cancel(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
