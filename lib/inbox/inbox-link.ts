/**
 * The inbox's way to its worker: one batch per turn of the event loop, errors with the inbox's codes, and whether it
 * works at all.
 */
import { join } from 'node:path';
import { storeError, type Fault } from '../sqlite/faults';
import { WorkerHost } from '../sqlite/worker-host';
import type { Committed, InboxBatch, InboxHello, InboxReply, InboxWorkerData, SettleOp } from './batch';
import { answer, CommitBuffer, rejectAll, type AcceptCall, type OpResult } from './commit-buffer';
import { INBOX_FAULT_CODES } from './inbox-codes';

/** Verdicts come by the thousand a second; a commit of their own for each turn would take the disk from the queue. */
const LAZY_MS = 50;

interface InboxLinkOptions {
  readonly file: string;
  workerData(damaged: boolean): InboxWorkerData;
  /** The minute before which remembered verdicts may be deleted. */
  forgetBefore(): number;
  onHello(hello: InboxHello): void;
  /** Before the callers of its batch hear of it. */
  onCommitted(reply: Committed): void;
}

export class InboxLink {
  readonly #options: InboxLinkOptions;
  readonly #host: WorkerHost<InboxBatch, InboxHello, InboxReply>;
  readonly #buffer = new CommitBuffer();
  readonly #listeners = new Set<(fault: Error | undefined) => void>();
  readonly #inFlight = new Set<Promise<void>>();
  #scheduled = false;
  #damaged = false;
  #lazy: NodeJS.Timeout | undefined;
  #fault: Error | undefined;
  /** The fault is one of storing only. */
  #refusing = false;

  constructor(options: InboxLinkOptions) {
    this.#options = options;
    this.#host = new WorkerHost({
      script: join(__dirname, 'inbox-worker.js'),
      file: options.file,
      codes: INBOX_FAULT_CODES,
      workerData: () => options.workerData(this.#damaged),
      onHello: (hello) => {
        this.#damaged = false;
        options.onHello(hello);
        this.#setFault(undefined);
      },
      onFault: (fault) => this.#setFault(fault),
    });
  }

  start(): Promise<void> {
    return this.#host.start();
  }

  accept(call: AcceptCall): Promise<OpResult> {
    this.#schedule();
    return this.#buffer.accept(call);
  }

  settle(op: SettleOp): Promise<OpResult> {
    this.#schedule();
    return this.#buffer.settle(op);
  }

  /** For a call that nobody waits for. */
  post(op: SettleOp): void {
    this.#buffer.post(op);
    this.#scheduleLazily();
  }

  /** Nobody waits for this either: at worst a crash forgets the verdicts of the last moment, and a repeat runs again. */
  remember(entry: Uint32Array): void {
    this.#buffer.remember(entry);
    this.#scheduleLazily();
  }

  /** What was called before is committed before: a reader must not see a row as it was. */
  async ask<Kind extends InboxReply['kind']>(batch: InboxBatch, kind: Kind) {
    this.#flush();
    const reply = await this.#host.request(batch);
    const isExpected = (some: InboxReply): some is Extract<InboxReply, { kind: Kind }> => some.kind === kind;
    if (isExpected(reply)) return reply;
    throw this.#unexpected(reply);
  }

  onHealth(listener: (fault: Error | undefined) => void): () => void {
    this.#listeners.add(listener);
    if (this.#fault) listener(this.#fault);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#flush();
    await Promise.all(this.#inFlight);
    await this.#host.close();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#flush());
  }

  #scheduleLazily(): void {
    if (this.#scheduled) return;
    this.#lazy ??= setTimeout(() => this.#flush(), LAZY_MS);
  }

  #flush(): void {
    this.#scheduled = false;
    clearTimeout(this.#lazy);
    this.#lazy = undefined;
    if (this.#buffer.isEmpty) return;
    const sending = this.#send().finally(() => this.#inFlight.delete(sending));
    this.#inFlight.add(sending);
  }

  async #send(): Promise<void> {
    const pending = this.#buffer.take(this.#options.forgetBefore());
    const isAccepting = pending.batch.ops.some(({ kind }) => kind === 'accept');
    try {
      const reply = await this.#host.request(pending.batch, [
        pending.batch.records,
        pending.batch.remembered.buffer,
      ]);
      if (reply.kind !== 'committed') throw this.#unexpected(reply);
      const errors = { all: this.#errorOf(reply.fault), accepts: this.#errorOf(reply.acceptFault) };
      this.#options.onCommitted(reply);
      answer(pending, reply, errors);
      this.#note(errors, isAccepting);
      if ((reply.fault ?? reply.acceptFault)?.kind === 'corrupt') this.#replaceFile();
    } catch (error) {
      rejectAll(pending, error instanceof Error ? error : this.#unexpected(undefined));
    }
  }

  /** Where nothing more can be stored, what leaves goes on: only a record that was stored tells that there is room. */
  #note(errors: Parameters<typeof answer>[2], isAccepting: boolean): void {
    const fault = errors.all ?? errors.accepts;
    if (fault) this.#refusing = errors.all === undefined;
    if (fault || isAccepting || !this.#refusing) this.#setFault(fault);
  }

  /** The next worker sets the damaged file aside and saves what can be read of it. */
  #replaceFile(): void {
    this.#damaged = true;
    this.#host.restart();
  }

  #errorOf(fault: Fault | undefined): Error | undefined {
    return fault && storeError(fault, this.#options.file, INBOX_FAULT_CODES);
  }

  #unexpected(reply: InboxReply | undefined): Error {
    const detail = `reply ${reply?.kind ?? 'missing'}`;
    const fault: Fault = reply?.kind === 'failed' ? reply.fault : { kind: 'worker', detail };
    if (fault.kind === 'corrupt') this.#replaceFile();
    return storeError(fault, this.#options.file, INBOX_FAULT_CODES);
  }

  #setFault(fault: Error | undefined): void {
    if (fault?.message === this.#fault?.message) return;
    this.#fault = fault;
    for (const listener of this.#listeners) listener(fault);
  }
}
