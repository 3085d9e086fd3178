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
  readonly #readPage: (beforeId: number, fromMinute: number) => Promise<LoadedPage>;
  #loaded = false;
  #loading = false;
  #waiters: Waiter[] = [];

  constructor(
    maxEntries: number,
    now: () => number,
    readPage: (beforeId: number, fromMinute: number) => Promise<LoadedPage>,
  ) {
    this.table = new SettledTable(maxEntries);
    this.#now = now;
    this.#readPage = readPage;
  }

  remember(entry: Uint32Array): void {
    this.table.set(entry, this.#minute());
  }

  recall(source: string, key: string): KnownVerdict | undefined | Promise<KnownVerdict | undefined> {
    const words = keyWordsOf(source, key);
    const known = this.table.get(words, this.#minute());
    if (known || this.#loaded) return known;
    const loaded = new Promise<void>((resolve, reject) => this.#waiters.push({ resolve, reject }));
    void this.load();
    return loaded.then(() => this.table.get(words, this.#minute()));
  }

  /** The minute before which the file may forget: what expired, and what the bound pushed out. */
  forgetBefore(): number {
    return Math.max(this.table.forgottenBefore, this.#minute() + 1);
  }

  /** Reads all pages, once. A failure rejects those who wait; the next to ask tries again. */
  async load(): Promise<void> {
    if (this.#loaded || this.#loading) return;
    this.#loading = true;
    try {
      await this.#readAll();
      this.#loaded = true;
      this.#wake((waiter) => waiter.resolve());
    } catch (error) {
      this.#wake((waiter) => waiter.reject(error));
    } finally {
      this.#loading = false;
    }
  }

  async #readAll(): Promise<void> {
    let beforeId: number | undefined = Number.MAX_SAFE_INTEGER;
    // Latest expiry comes first: what finds no room is what expires soonest.
    while (beforeId !== undefined && !this.table.isFull) {
      const page: LoadedPage = await this.#readPage(beforeId, this.#minute() + 1);
      for (let at = 0; at < page.entries.length; at += ENTRY_WORDS) {
        this.table.load(page.entries.subarray(at, at + ENTRY_WORDS), this.#minute());
      }
      beforeId = page.nextBeforeId;
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
