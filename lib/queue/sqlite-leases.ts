/** Which records are on lease, in memory only; changes within a transaction can be taken back. */
export class Leases {
  /** By seq: whether the record is parked (true) or in a chunk. */
  readonly #parked = new Map<number, boolean>();
  #parkedCount = 0;
  #ended: [seq: number, parked: boolean][] = [];

  /** How many of them are parked records. */
  get parkedCount(): number {
    return this.#parkedCount;
  }

  get size(): number {
    return this.#parked.size;
  }

  /** Seqs of the parked ones. */
  parkedSeqs(): number[] {
    if (this.#parkedCount === 0) return [];
    return [...this.#parked].filter(([, parked]) => parked).map(([seq]) => seq);
  }

  has(seq: number): boolean {
    return this.#parked.has(seq);
  }

  give(seq: number, parked: boolean): void {
    this.#parkedCount += Number(parked) - Number(this.#parked.get(seq) ?? false);
    this.#parked.set(seq, parked);
  }

  /** Whether the record is parked; undefined when it isn't on lease. */
  end(seq: number): boolean | undefined {
    const parked = this.#parked.get(seq);
    if (parked === undefined) return undefined;
    this.#parked.delete(seq);
    this.#parkedCount -= Number(parked);
    this.#ended.push([seq, parked]);
    return parked;
  }

  oldestFirst(): number[] {
    return [...this.#parked.keys()].sort((a, b) => a - b);
  }

  /** What ended, ended. */
  committed(): void {
    this.#ended = [];
  }

  /** What ended since the last commit is on lease again. */
  rolledBack(): void {
    for (const [seq, parked] of this.#ended.reverse()) this.give(seq, parked);
    this.#ended = [];
  }
}
