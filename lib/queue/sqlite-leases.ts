/**
 * Which records are out for delivery: in memory, where changes within a transaction can be taken back, and in the file
 * as far as the next process must know it.
 */
import type { Database } from 'better-sqlite3';
import { PARKED_IN_A_ROW } from './contract';
import { LeaseJournal } from './sqlite-lease-journal';
import { Suspects } from './sqlite-suspects';

export class Leases {
  /** By seq: whether the record is parked (true) or in a chunk. */
  readonly #parked = new Map<number, boolean>();
  readonly journal: LeaseJournal;
  readonly suspects: Suspects;
  #parkedCount = 0;
  #parkedInARow = 0;
  #ended: [seq: number, parked: boolean][] = [];

  constructor(db: Database) {
    this.journal = new LeaseJournal(db);
    this.suspects = new Suspects(db);
  }

  /** How many of them are parked records. */
  get parkedCount(): number {
    return this.#parkedCount;
  }

  /** How many of the next leases may be parked ones while others are queued. */
  parkedShare(maxRecords: number, maxParked: number): number {
    if (maxParked === Infinity) return maxRecords;
    const turn = Math.floor((maxRecords * PARKED_IN_A_ROW) / (PARKED_IN_A_ROW + 1));
    const credit = Math.max(0, PARKED_IN_A_ROW - this.#parkedInARow);
    return Math.max(0, Math.min(maxRecords, maxParked - this.#parkedCount, turn + credit));
  }

  has(seq: number): boolean {
    return this.#parked.has(seq);
  }

  mayGo(seq: number, now: number): boolean {
    return this.suspects.mayGo(seq, this.#parked.size, now);
  }

  give(seq: number, parked: boolean): void {
    this.#parkedCount += Number(parked) - Number(this.#parked.get(seq) ?? false);
    this.#parked.set(seq, parked);
    this.#parkedInARow = parked ? this.#parkedInARow + 1 : 0;
    if (parked) this.journal.touch();
  }

  /** Whether the record is parked; undefined when it isn't on lease. */
  end(seq: number): boolean | undefined {
    const parked = this.#parked.get(seq);
    if (parked === undefined) return undefined;
    this.#parked.delete(seq);
    this.#parkedCount -= Number(parked);
    this.#ended.push([seq, parked]);
    this.suspects.ended(seq);
    if (parked) this.journal.touch();
    return parked;
  }

  oldestFirst(): number[] {
    return [...this.#parked.keys()].sort((a, b) => a - b);
  }

  /** Writes what is out, if that changed, so that a crash can be blamed. */
  save(): void {
    if (!this.journal.changed) return;
    const parked = this.#parkedCount === 0 ? [] : [...this.#parked].filter(([, isParked]) => isParked);
    this.journal.save(parked.map(([seq]) => seq));
  }

  /** What ended, ended. */
  committed(): void {
    this.#ended = [];
  }

  /** What ended since the last commit is on lease again. */
  rolledBack(): void {
    for (const [seq, parked] of this.#ended.reverse()) this.give(seq, parked);
    this.#ended = [];
    this.journal.touch();
    this.suspects.reload();
  }
}
