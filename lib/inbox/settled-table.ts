/**
 * The remembered verdicts of all sources in memory, so that a miss is certain and costs no look into the file. Typed
 * arrays: a million entries take 50 MB and no garbage collector walks them. Split by key, so that a rebuild, which
 * stops the event loop, moves some ten thousand entries and not a million.
 */
import type { KnownVerdict } from './contract';
import type { KeyWords } from './settled-entry';
import { SettledShard } from './settled-shard';

const MAX_SHARDS = 64;
/** Below this a shard's share of random keys would stray too far from the average. */
const MIN_ENTRIES_PER_SHARD = 8192;

function shardCount(maxEntries: number): number {
  let shards = 1;
  while (shards < MAX_SHARDS && maxEntries / (shards * 2) >= MIN_ENTRIES_PER_SHARD) shards *= 2;
  return shards;
}

export class SettledTable {
  readonly #shards: readonly SettledShard[];

  constructor(maxEntries: number) {
    const shards = shardCount(maxEntries);
    this.#shards = Array.from({ length: shards }, () => new SettledShard(Math.floor(maxEntries / shards)));
  }

  /** Entries held, expired ones that weren't swept yet included. */
  get size(): number {
    return this.#sum((shard) => shard.size);
  }

  get isFull(): boolean {
    return this.#shards.every((shard) => shard.size >= shard.maxEntries);
  }

  /** Entries forgotten before their time, because of the bound. */
  get forgottenEarlyTotal(): number {
    return this.#sum((shard) => shard.forgottenEarlyTotal);
  }

  /**
   * What expired before this minute is forgotten, or gone early. The file may forget it too: an entry with a shorter
   * window that comes later is then known until a restart only.
   */
  get forgottenBefore(): number {
    return this.#shards.reduce((least, shard) => Math.min(least, shard.forgottenBefore), Infinity);
  }

  get(key: KeyWords, nowMinute: number): KnownVerdict | undefined {
    return this.#shardOf(key[1]).get(key, nowMinute);
  }

  /** Stores an entry; one with the same key is replaced. */
  set(entry: Uint32Array, nowMinute: number): void {
    this.#shardOf(entry[1] as number).set(entry, nowMinute);
  }

  /** Stores an entry read from the file, unless its key is known already or there is no room. */
  load(entry: Uint32Array, nowMinute: number): void {
    this.#shardOf(entry[1] as number).load(entry, nowMinute);
  }

  #shardOf(word: number): SettledShard {
    return this.#shards[word & (this.#shards.length - 1)] as SettledShard;
  }

  #sum(of: (shard: SettledShard) => number): number {
    return this.#shards.reduce((sum, shard) => sum + of(shard), 0);
  }
}
