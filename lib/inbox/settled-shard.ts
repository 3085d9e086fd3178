/**
 * Remembered verdicts in one open-addressing table of fixed-size entries (24 bytes). Entries are never removed one by
 * one: expired ones are dropped when the table is rebuilt. At `maxEntries` those that expire soonest go early, in the
 * whole minutes that make an eighth of the table.
 */
import type { KnownVerdict } from './contract';
import { decodeVerdict, ENTRY_WORDS, type KeyWords } from './settled-entry';

const MIN_SLOTS = 64;
const MAX_LOAD = 0.75;

export class SettledShard {
  #words = new Uint32Array(MIN_SLOTS * ENTRY_WORDS);
  #size = 0;
  #forgottenEarly = 0;
  /** Entries that expire before this minute are gone, here and (soon) in the file. */
  #forgottenBefore = 0;

  constructor(readonly maxEntries: number) {}

  /** Entries held, expired ones that weren't swept yet included. */
  get size(): number {
    return this.#size;
  }
  get forgottenEarlyTotal(): number {
    return this.#forgottenEarly;
  }
  get forgottenBefore(): number {
    return this.#forgottenBefore;
  }

  get(key: KeyWords, nowMinute: number): KnownVerdict | undefined {
    const at = this.#find(this.#words, key[0], key[1], key[2]);
    const meta = this.#words[at + 5] as number;
    if (meta >>> 1 <= nowMinute) return undefined;
    return decodeVerdict(this.#words[at + 3] as number, this.#words[at + 4] as number, meta);
  }

  /** Stores an entry; one with the same key is replaced. */
  set(entry: Uint32Array, nowMinute: number): void {
    if (this.#size >= this.maxEntries || this.#size + 1 > this.#slots * MAX_LOAD) this.#makeRoom(nowMinute);
    const at = this.#find(this.#words, entry[0] as number, entry[1] as number, entry[2] as number);
    if (this.#words[at + 5] === 0) this.#size += 1;
    this.#words.set(entry, at);
  }

  /** Stores an entry read from the file, unless its key is known already or there is no room. */
  load(entry: Uint32Array, nowMinute: number): void {
    if (this.#size >= this.maxEntries) return;
    const at = this.#find(this.#words, entry[0] as number, entry[1] as number, entry[2] as number);
    if (this.#words[at + 5] === 0) this.set(entry, nowMinute);
  }

  get #slots(): number {
    return this.#words.length / ENTRY_WORDS;
  }

  /** Offset of the slot that holds the key, or of the free slot where it belongs. */
  #find(words: Uint32Array, a: number, b: number, c: number): number {
    const slots = words.length / ENTRY_WORDS;
    // Keys are digests: any of their words is as good as a hash.
    let slot = a & (slots - 1);
    for (;;) {
      const at = slot * ENTRY_WORDS;
      if (words[at + 5] === 0) return at;
      if (words[at] === a && words[at + 1] === b && words[at + 2] === c) return at;
      slot = (slot + 1) & (slots - 1);
    }
  }

  #makeRoom(nowMinute: number): void {
    const live = this.#liveByMinute(nowMinute);
    let count = 0;
    for (const entries of live.values()) count += entries;
    let keepFrom = nowMinute + 1;
    if (count >= this.maxEntries) {
      const target = Math.floor(this.maxEntries * (7 / 8));
      for (const minute of [...live.keys()].sort((a, b) => a - b)) {
        if (count <= target) break;
        const entries = live.get(minute) as number;
        count -= entries;
        this.#forgottenEarly += entries;
        keepFrom = minute + 1;
      }
    }
    this.#rebuild(keepFrom, count);
  }

  #liveByMinute(nowMinute: number): Map<number, number> {
    const live = new Map<number, number>();
    for (let at = 5; at < this.#words.length; at += ENTRY_WORDS) {
      const minute = (this.#words[at] as number) >>> 1;
      if (minute > nowMinute) live.set(minute, (live.get(minute) ?? 0) + 1);
    }
    return live;
  }

  #rebuild(keepFrom: number, count: number): void {
    let slots = MIN_SLOTS;
    // Half full at most, so that the next rebuild is far off.
    while (slots / 2 < count + 1) slots *= 2;
    const old = this.#words;
    const words = new Uint32Array(slots * ENTRY_WORDS);
    for (let at = 0; at < old.length; at += ENTRY_WORDS) {
      if ((old[at + 5] as number) >>> 1 < keepFrom) continue;
      const to = this.#find(words, old[at] as number, old[at + 1] as number, old[at + 2] as number);
      for (let word = 0; word < ENTRY_WORDS; word += 1) words[to + word] = old[at + word] as number;
    }
    this.#size = count;
    this.#words = words;
    this.#forgottenBefore = Math.max(this.#forgottenBefore, keepFrom);
  }
}
