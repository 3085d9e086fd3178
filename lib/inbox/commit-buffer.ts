/** Gathers the calls of one turn of the event loop into one batch, so that one commit serves them all. */
import type { AcceptOp, CommitBatch, Committed, InboxOp, SettleOp } from './batch';
import { ENTRY_WORDS } from './settled-entry';

export type OpResult = { readonly attempt: number };

interface Waiter {
  resolve(result: OpResult): void;
  reject(error: Error): void;
}

/** Turns a batch's reply into its callers' results. `undefined` = nobody waits for that op. */
export interface PendingBatch {
  readonly batch: CommitBatch;
  readonly waiters: readonly (Waiter | undefined)[];
}

export type AcceptCall = Omit<AcceptOp, 'kind' | 'start' | 'end'> & { readonly record: Uint8Array };

export class CommitBuffer {
  #ops: InboxOp[] = [];
  #waiters: (Waiter | undefined)[] = [];
  #records: Uint8Array[] = [];
  #bytes = 0;
  #entries: Uint32Array[] = [];

  get isEmpty(): boolean {
    return this.#ops.length === 0 && this.#entries.length === 0;
  }

  accept({ record, ...call }: AcceptCall): Promise<OpResult> {
    const start = this.#bytes;
    this.#bytes += record.byteLength;
    this.#records.push(record);
    return this.#wait({ ...call, kind: 'accept', start, end: this.#bytes });
  }

  settle(op: SettleOp): Promise<OpResult> {
    return this.#wait(op);
  }

  /** For a call that nobody waits for. */
  post(op: SettleOp): void {
    this.#ops.push(op);
    this.#waiters.push(undefined);
  }

  /** A verdict to remember, as `encodeEntry` makes it. */
  remember(entry: Uint32Array): void {
    this.#entries.push(entry);
  }

  take(forgetBefore: number): PendingBatch {
    const records = new Uint8Array(this.#bytes);
    let at = 0;
    for (const record of this.#records) {
      records.set(record, at);
      at += record.byteLength;
    }
    const remembered = new Uint32Array(this.#entries.length * ENTRY_WORDS);
    this.#entries.forEach((entry, index) => remembered.set(entry, index * ENTRY_WORDS));
    const batch: CommitBatch = {
      kind: 'commit',
      ops: this.#ops,
      records: records.buffer,
      remembered,
      forgetBefore,
    };
    const waiters = this.#waiters;
    this.#ops = [];
    this.#waiters = [];
    this.#records = [];
    this.#bytes = 0;
    this.#entries = [];
    return { batch, waiters };
  }

  #wait(op: InboxOp): Promise<OpResult> {
    this.#ops.push(op);
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }));
  }
}

/** Tells every caller of a batch what became of its call. */
export function answer(
  { batch, waiters }: PendingBatch,
  reply: Committed,
  errors: { readonly all: Error | undefined; readonly accepts: Error | undefined },
): void {
  let started = 0;
  batch.ops.forEach(({ kind }, index) => {
    const waiter = waiters[index];
    const error = kind === 'accept' ? (errors.accepts ?? errors.all) : errors.all;
    const attempt = kind === 'start' ? (reply.attempts[started++] ?? 0) : 0;
    if (error) waiter?.reject(error);
    else waiter?.resolve({ attempt });
  });
}

export function rejectAll({ waiters }: PendingBatch, error: Error): void {
  for (const waiter of waiters) waiter?.reject(error);
}
