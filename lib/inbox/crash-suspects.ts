import { MAX_CRASH_ATTEMPTS, type InboxRow } from './contract';

/**
 * Rows that were running each time the process ended, one short of being parked for it: any of them may be the cause.
 * One at a time is tried again; together, all of them would be taken for the one that ends the process.
 */
export class CrashSuspects {
  readonly #waiting = new Set<number>();
  #tried: number | undefined;

  /** How many wait. */
  get size(): number {
    return this.#waiting.size;
  }

  isWaiting(id: number): boolean {
    return this.#waiting.has(id);
  }

  /** Whether the row may start now; else it waits until the one before it has ended. */
  admit({ id, attempts }: Pick<InboxRow, 'id' | 'attempts'>): boolean {
    if (attempts !== MAX_CRASH_ATTEMPTS - 1) return true;
    if (this.#tried !== undefined) {
      this.#waiting.add(id);
      return false;
    }
    this.#tried = id;
    return true;
  }

  /** An attempt ended with the process still there, or never began. */
  ended(id: number): void {
    if (this.#tried !== id) return;
    this.#tried = undefined;
    this.#waiting.clear();
  }
}
