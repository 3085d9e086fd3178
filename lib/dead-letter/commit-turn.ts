/** Gathers the calls of one turn of the event loop into one batch, so that one commit serves them all. */
import type { PlaceQuota } from './contract';
import type { Committed, ChangeOp, CommitBatch, Op, ParkOp } from './wire';

interface Waiter {
  resolve(result: number): void;
  reject(error: Error): void;
}

export class CommitTurn {
  readonly #ops: Op[] = [];
  readonly #waiters: Waiter[] = [];
  readonly #records: Uint8Array[] = [];
  readonly #quotas = new Map<string, PlaceQuota>();
  /** Of the records. */
  bytes = 0;

  park(op: Omit<ParkOp, 'kind' | 'start' | 'end'>, record: Uint8Array, quota: PlaceQuota): Promise<number> {
    this.#quotas.set(op.place, quota);
    const start = this.bytes;
    this.bytes += record.byteLength;
    this.#records.push(record);
    return this.#wait({ ...op, kind: 'park', start, end: this.bytes });
  }

  change(op: ChangeOp): Promise<number> {
    return this.#wait(op);
  }

  /** Once, when the turn is over. */
  pack(): CommitBatch & { readonly records: ArrayBuffer } {
    const records = new Uint8Array(this.bytes);
    let at = 0;
    for (const record of this.#records) {
      records.set(record, at);
      at += record.byteLength;
    }
    return { kind: 'commit', ops: this.#ops, records: records.buffer, quotas: this.#quotas };
  }

  /** Tells every caller what became of its call. */
  answer(
    { results }: Committed,
    { all, parks }: { readonly all: Error | undefined; readonly parks: Error | undefined },
  ): void {
    this.#ops.forEach(({ kind }, index) => {
      const waiter = this.#waiters[index];
      const error = kind === 'park' ? (parks ?? all) : all;
      if (error) waiter?.reject(error);
      else waiter?.resolve(results[index] ?? 0);
    });
  }

  fail(error: Error): void {
    for (const { reject } of this.#waiters) reject(error);
  }

  #wait(op: Op): Promise<number> {
    this.#ops.push(op);
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }));
  }
}
