/** What came in within one turn of the event loop, and who waits for it. */
import type { AppendOptions, AppendResult, LeasedRecord, Settlement } from './contract';
import { writeFrames, type AppendBatch, type LeaseRequest, type QueueBatch } from './sqlite-wire';

interface Caller<Result> {
  resolve(result: Result): void;
  reject(error: Error): void;
}

export class Turn {
  /** Bytes of the records to append. */
  bytes = 0;
  readonly #records: Uint8Array[] = [];
  readonly #options: AppendOptions[] = [];
  readonly #appends: Caller<AppendResult>[] = [];
  readonly #settlements: Settlement[] = [];
  readonly #settles: Caller<void>[] = [];
  readonly #requests: LeaseRequest[] = [];
  readonly #leases: Caller<LeasedRecord[]>[] = [];

  get writes(): boolean {
    return this.#records.length > 0 || this.#settlements.length > 0;
  }

  append(record: Uint8Array, options: AppendOptions): Promise<AppendResult> {
    this.bytes += record.byteLength;
    this.#records.push(record);
    this.#options.push(options);
    return new Promise((resolve, reject) => this.#appends.push({ resolve, reject }));
  }

  settle(settlement: Settlement): Promise<void> {
    this.#settlements.push(settlement);
    return new Promise((resolve, reject) => this.#settles.push({ resolve, reject }));
  }

  lease(request: LeaseRequest): Promise<LeasedRecord[]> {
    this.#requests.push(request);
    return new Promise((resolve, reject) => this.#leases.push({ resolve, reject }));
  }

  pack(now: number): { batch: QueueBatch; transfer: ArrayBuffer[] } {
    const append = this.#packAppends();
    const done: number[] = [];
    const others: Settlement[] = [];
    for (const settlement of this.#settlements) {
      if (settlement.outcome === 'done') done.push(settlement.seq);
      else others.push(settlement);
    }
    const batch: QueueBatch = {
      now,
      append,
      done: done.length > 0 ? Float64Array.from(done) : undefined,
      settlements: others.length > 0 ? others : undefined,
      leases: this.#requests.length > 0 ? this.#requests : undefined,
    };
    return { batch, transfer: append ? [append.frames] : [] };
  }

  *settlements(): Iterable<Settlement> {
    yield* this.#settlements;
  }

  *settledSeqs(): Iterable<number> {
    for (const { seq } of this.#settlements) yield seq;
  }

  stored(firstSeq: number, duplicates: readonly (readonly [index: number, seq: number])[]): void {
    let next = 0;
    let seq = firstSeq;
    for (const [index, caller] of this.#appends.entries()) {
      const known = duplicates[next];
      if (known?.[0] === index) {
        caller.resolve({ seq: known[1], duplicate: true });
        next++;
      } else caller.resolve({ seq: seq++, duplicate: false });
    }
  }

  settled(): void {
    for (const caller of this.#settles) caller.resolve();
  }

  leased(index: number, records: LeasedRecord[]): void {
    this.#leases[index]?.resolve(records);
  }

  leaseFailed(index: number, error: Error): void {
    this.#leases[index]?.reject(error);
  }

  /** Rejects the appends, settlements and leases for which there is an error. */
  fail(append: Error | undefined, settle: Error | undefined, lease: Error | undefined): void {
    if (append) for (const caller of this.#appends) caller.reject(append);
    if (settle) for (const caller of this.#settles) caller.reject(settle);
    if (lease) for (const caller of this.#leases) caller.reject(lease);
  }

  #packAppends(): AppendBatch | undefined {
    const count = this.#records.length;
    if (count === 0) return undefined;
    const options = this.#options;
    return {
      frames: writeFrames(this.#records),
      count,
      ...(options.some(({ key }) => key !== undefined) && { keys: options.map(({ key }) => key) }),
      ...(options.some(({ keySince }) => keySince !== undefined) && {
        keysSince: options.map(({ keySince }) => keySince),
      }),
      evictDownTo: options.findLast(({ evictDownTo }) => evictDownTo !== undefined)?.evictDownTo,
    };
  }
}
