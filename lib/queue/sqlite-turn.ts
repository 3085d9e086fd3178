/** What came in within one turn of the event loop, and who waits for it. */
import type {
  AppendOptions,
  AppendResult,
  LeasedRecord,
  ListedRecord,
  ParkedRecord,
  Settlement,
} from './contract';
import {
  writeFrames,
  type AppendBatch,
  type LeaseRequest,
  type ParkedRead,
  type QueueBatch,
} from './sqlite-wire';

/** What all calls of one kind wait for together: a promise with two functions for each record would cost more. */
class Outcome<Result> {
  readonly promise: Promise<Result>;
  resolve: (result: Result) => void = () => undefined;
  reject: (error: Error) => void = () => undefined;

  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    // Who called hears of it; with no call of this kind there is nobody who could.
    this.promise.catch(() => undefined);
  }
}

interface Stored {
  readonly firstSeq: number;
  readonly duplicates: readonly (readonly [index: number, seq: number])[];
}

export class Turn {
  /** Bytes of the records to append. */
  bytes = 0;
  readonly #records: Uint8Array[] = [];
  readonly #options: AppendOptions[] = [];
  readonly #stored = new Outcome<Stored>();
  readonly #settlements: Settlement[] = [];
  readonly #settled = new Outcome<void>();
  readonly #requests: LeaseRequest[] = [];
  readonly #leases: Outcome<LeasedRecord[]>[] = [];
  readonly #reads: ParkedRead[] = [];
  readonly #lists: number[] = [];
  readonly #listed: Outcome<readonly ListedRecord[]>[] = [];
  readonly #found: Outcome<readonly ParkedRecord[]>[] = [];
  #releasesHeld = false;
  /** Asked for by seq and given out later. */
  later: readonly number[] = [];

  get writes(): boolean {
    return this.#records.length > 0 || this.#settlements.length > 0 || this.#releasesHeld;
  }

  append(record: Uint8Array, options: AppendOptions): Promise<AppendResult> {
    this.bytes += record.byteLength;
    const index = this.#records.push(record) - 1;
    this.#options.push(options);
    return this.#stored.promise.then((stored) => resultOf(index, stored));
  }

  settle(settlement: Settlement): Promise<void> {
    this.#settlements.push(settlement);
    return this.#settled.promise;
  }

  lease(request: LeaseRequest): Promise<LeasedRecord[]> {
    this.#requests.push(request);
    const lease = new Outcome<LeasedRecord[]>();
    this.#leases.push(lease);
    return lease.promise;
  }

  readParked(read: ParkedRead): Promise<readonly ParkedRecord[]> {
    this.#reads.push(read);
    const found = new Outcome<readonly ParkedRecord[]>();
    this.#found.push(found);
    return found.promise;
  }

  list(limit: number): Promise<readonly ListedRecord[]> {
    this.#lists.push(limit);
    const listed = new Outcome<readonly ListedRecord[]>();
    this.#listed.push(listed);
    return listed.promise;
  }

  releaseHeld(): Promise<void> {
    this.#releasesHeld = true;
    return this.#settled.promise;
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
      reads: this.#reads.length > 0 ? this.#reads : undefined,
      lists: this.#lists.length > 0 ? this.#lists : undefined,
      releaseHeld: this.#releasesHeld || undefined,
    };
    return { batch, transfer: append ? [append.frames] : [] };
  }

  *settlements(): Iterable<Settlement> {
    yield* this.#settlements;
  }

  *settledSeqs(): Iterable<number> {
    for (const { seq } of this.#settlements) yield seq;
  }

  stored(firstSeq: number, duplicates: Stored['duplicates']): void {
    this.#stored.resolve({ firstSeq, duplicates });
  }

  settled(): void {
    this.#settled.resolve();
  }

  leased(index: number, records: LeasedRecord[]): void {
    this.#leases[index]?.resolve(records);
  }

  leaseFailed(index: number, error: Error): void {
    this.#leases[index]?.reject(error);
  }

  found(index: number, records: readonly ParkedRecord[]): void {
    this.#found[index]?.resolve(records);
  }

  readFailed(index: number, error: Error): void {
    this.#found[index]?.reject(error);
  }

  listed(index: number, records: readonly ListedRecord[]): void {
    this.#listed[index]?.resolve(records);
  }

  listFailed(index: number, error: Error): void {
    this.#listed[index]?.reject(error);
  }

  /** Rejects the appends, the settlements, and what would have been read, where there is an error. */
  fail(append: Error | undefined, settle: Error | undefined, read: Error | undefined): void {
    if (append) this.#stored.reject(append);
    if (settle) this.#settled.reject(settle);
    if (read) for (const caller of [...this.#leases, ...this.#found, ...this.#listed]) caller.reject(read);
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

/** Those that weren't duplicates got their seqs in order. */
function resultOf(index: number, { firstSeq, duplicates }: Stored): AppendResult {
  let before = 0;
  let end = duplicates.length;
  while (before < end) {
    const middle = (before + end) >> 1;
    if ((duplicates[middle]?.[0] ?? 0) < index) before = middle + 1;
    else end = middle;
  }
  const known = duplicates[before];
  if (known?.[0] === index) return { seq: known[1], duplicate: true };
  return { seq: firstSeq + index - before, duplicate: false };
}
