/**
 * The main thread's remembered verdicts: a table that answers at once, filled from the file after start. Until it is
 * full, a key that isn't in it yet is never called unseen: the answer waits for the file.
 */
import type { KnownVerdict } from './contract';
import { ENTRY_WORDS, keyWordsOf, minuteOf } from './settled-entry';
import { SettledTable } from './settled-table';

export interface LoadedPage {
  readonly entries: Uint32Array;
  readonly nextBeforeId: number | undefined;
}

interface Waiter {
  resolve(): void;
  reject(error: unknown): void;
}

export class SettledMemory {
  readonly table: SettledTable;
  readonly #now: () => number;
  #loaded = false;
  #loading = false;
  #failure: unknown;
  #waiters: Waiter[] = [];

  constructor(maxEntries: number, now: () => number) {
    this.table = new SettledTable(maxEntries);
    this.#now = now;
  }

  remember(entry: Uint32Array): void {
    this.table.set(entry, this.#minute());
  }

  recall(source: string, key: string): KnownVerdict | undefined | Promise<KnownVerdict | undefined> {
    const words = keyWordsOf(source, key);
    const known = this.table.get(words, this.#minute());
    if (known || this.#loaded) return known;
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return new Promise<void>((resolve, reject) => this.#waiters.push({ resolve, reject })).then(() =>
      this.table.get(words, this.#minute()),
    );
  }

  /** The minute before which the file may forget: what expired, and what the bound pushed out. */
  forgetBefore(): number {
    return Math.max(this.table.forgottenBefore, this.#minute() + 1);
  }

  /** Reads all pages. A failure rejects those who wait; call again when the file works again. */
  async load(readPage: (beforeId: number, fromMinute: number) => Promise<LoadedPage>): Promise<void> {
    if (this.#loaded || this.#loading) return;
    this.#loading = true;
    this.#failure = undefined;
    try {
      let beforeId: number | undefined = Number.MAX_SAFE_INTEGER;
      while (beforeId !== undefined && this.table.size < this.table.maxEntries) {
        const page: LoadedPage = await readPage(beforeId, this.#minute() + 1);
        this.#take(page.entries);
        beforeId = page.nextBeforeId;
      }
      this.#loaded = true;
      this.#wake((waiter) => waiter.resolve());
    } catch (error) {
      this.#failure = error;
      this.#wake((waiter) => waiter.reject(error));
    } finally {
      this.#loading = false;
    }
  }

  #take(entries: Uint32Array): void {
    const minute = this.#minute();
    for (let at = 0; at < entries.length; at += ENTRY_WORDS) {
      // Latest expiry comes first: what doesn't fit any more is what expires soonest.
      if (this.table.size >= this.table.maxEntries) return;
      this.table.load(entries.subarray(at, at + ENTRY_WORDS), minute);
    }
  }

  #wake(tell: (waiter: Waiter) => void): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    waiters.forEach(tell);
  }

  #minute(): number {
    return minuteOf(this.#now());
  }
}
