/**
 * Runs what one `on_receipt` source accepted: its sender was told 200, so a record leaves the inbox only when the flow
 * handled it, and stays as parked when the flow can't. An attempt is committed before the record is sent: one that
 * takes the process down each time is parked instead of being run for ever.
 */
import type { Admission, Refusal } from '../delivery/admission';
import { FLOW_RETRY_SECS, refuse } from '../delivery/admission';
import type { Hold } from '../delivery/contract';
import type { IncomingRecord, Receiver, TrackedRecord } from '../delivery/entry';
import { nextDelayMs } from '../delivery/retry';
import type { Verdict } from '../delivery/verdict';
import { decodeRecord, encodeRecord } from '../queue/record-format';
import { MAX_CRASH_ATTEMPTS, type Inbox, type InboxRow, type KnownVerdict } from './contract';

export const NOT_HANDLED = 'accepted (200) but not handled';

const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 60_000;
/** Waiting here costs a look at a counter: no need to wait as long as a sender is asked to. */
const ROOM_CHECK_MS = 500;
const LEFTOVER_CHECK_MS = 1000;

export interface InboxRunnerOptions {
  readonly source: string;
  /** Records running at once. */
  readonly window: number;
  /** How often a record that failed transiently is run again before it is parked. */
  readonly retries: number;
  /** How long the answer is remembered for the sender's repeats; 0 = not. */
  readonly dedupeMs: number;
}

export interface InboxRunnerDeps {
  readonly inbox: Inbox;
  readonly admit: (bytes: number) => Admission;
  readonly deliver: (
    record: TrackedRecord,
    attempt: number,
    holds: ReadonlyMap<string, Hold>,
  ) => Promise<Verdict>;
  readonly random: () => number;
  /** A record that is parked now, or a failure of the inbox itself. */
  readonly report: (error: Error) => void;
}

export class InboxRunner implements Receiver {
  readonly #failures = new Map<number, number>();
  /** Rows that wait for their next try, so that a pull doesn't start them early. */
  readonly #resting = new Set<number>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #runs = new Set<Promise<void>>();
  #check: NodeJS.Timeout | undefined;
  #running = 0;
  #pulling = false;
  #open = false;

  constructor(
    private readonly options: InboxRunnerOptions,
    private readonly deps: InboxRunnerDeps,
  ) {}

  /** Resolves when the records that are running now have been settled; undefined when there are none. */
  settled(): Promise<void> | undefined {
    return this.#runs.size === 0 ? undefined : Promise.all(this.#runs).then(() => undefined);
  }

  canAccept({ bytes }: IncomingRecord): Refusal | undefined {
    return this.deps.inbox.canTake(bytes) ? undefined : refuse('inbox', FLOW_RETRY_SECS);
  }

  async accept(
    { key, digest, message, receivedAt }: IncomingRecord,
    holds: ReadonlyMap<string, Hold> | undefined,
  ): Promise<void> {
    const { source, window, dedupeMs } = this.options;
    const started = this.#open && holds !== undefined && this.#running < window;
    if (started) this.#running += 1;
    const verdict: KnownVerdict = { digest, verdict: 'done' };
    try {
      const id = await this.deps.inbox.accept({
        source,
        key,
        record: encodeRecord(message),
        started,
        ...(dedupeMs > 0 && { settled: { ...verdict, expiresAt: receivedAt + dedupeMs } }),
      });
      if (started) this.#follow(id, { key, message, receivedAt, row: id }, 1, holds);
    } catch (error) {
      if (started) this.#running -= 1;
      throw error;
    }
    if (started) return;
    for (const hold of holds?.values() ?? []) hold.release();
    void this.#pull();
  }

  /** The flow runs: what is pending is run, oldest first. */
  resume(): void {
    this.#open = true;
    clearInterval(this.#check);
    this.#check = setInterval(() => this.#pullLeftovers(), LEFTOVER_CHECK_MS).unref();
    void this.#pull();
  }

  /** A deploy or shutdown begins: nothing new is sent. */
  pause(): void {
    this.#open = false;
    clearInterval(this.#check);
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#resting.clear();
  }

  /** Rows that the node before this one was still running when it was replaced, and gave back later. */
  #pullLeftovers(): void {
    const { pending } = this.deps.inbox.countsOf(this.options.source);
    if (pending > this.#running + this.#resting.size) void this.#pull();
  }

  async #pull(): Promise<void> {
    if (this.#pulling || !this.#open) return;
    this.#pulling = true;
    try {
      while (this.#open && this.#running < this.options.window) {
        const limit = this.options.window - this.#running + this.#resting.size;
        const rows = await this.deps.inbox.pending(this.options.source, limit);
        const ready = rows.filter((row) => !this.#resting.has(row.id));
        if (ready.length === 0 || !(await this.#startAll(ready))) return;
      }
    } catch (error) {
      this.deps.report(error instanceof Error ? error : new Error(String(error)));
      this.#later(LONGEST_RETRY_MS);
    } finally {
      this.#pulling = false;
    }
  }

  /** Starts rows until the flow has no room; says whether all were started. */
  async #startAll(rows: readonly InboxRow[]): Promise<boolean> {
    for (const row of rows) {
      if (!this.#open || this.#running >= this.options.window) return false;
      if (row.attempts >= MAX_CRASH_ATTEMPTS) {
        await this.#park(row.id, 'ERR_SLUICE_INBOX_CRASHES', `it ended the process ${row.attempts} times`);
        continue;
      }
      const admission = this.deps.admit(row.record.byteLength);
      if (!admission.admitted) {
        this.#later(ROOM_CHECK_MS);
        return false;
      }
      this.#running += 1;
      const begun = await this.deps.inbox.startAttempt(row.id);
      if (begun === undefined) {
        this.#running -= 1;
        for (const hold of admission.holds.values()) hold.release();
        continue;
      }
      const { id, key, acceptedAt } = row;
      const record = { key, message: decodeRecord(row.record), receivedAt: acceptedAt, row: id };
      this.#follow(row.id, record, begun + (this.#failures.get(row.id) ?? 0), admission.holds);
    }
    return true;
  }

  #follow(id: number, record: TrackedRecord, attempt: number, holds: ReadonlyMap<string, Hold>): void {
    const run = this.#run(id, record, attempt, holds).finally(() => this.#runs.delete(run));
    this.#runs.add(run);
  }

  async #run(
    id: number,
    record: TrackedRecord,
    attempt: number,
    holds: ReadonlyMap<string, Hold>,
  ): Promise<void> {
    try {
      if (!this.#open) {
        // A deploy began while the row was being written: nothing is sent until flows run again.
        for (const hold of holds.values()) hold.release();
        return this.deps.inbox.release(id);
      }
      const verdict = await this.deps.deliver(record, attempt, holds);
      await this.#settle(id, verdict);
    } catch (error) {
      // The row stays; it runs again when the inbox works again.
      this.deps.inbox.release(id);
      this.deps.report(error instanceof Error ? error : new Error(String(error)));
    } finally {
      this.#running -= 1;
      void this.#pull();
    }
  }

  async #settle(id: number, verdict: Verdict): Promise<void> {
    if (verdict.kind === 'done') {
      this.#failures.delete(id);
      return this.deps.inbox.finish(id);
    }
    if (verdict.kind === 'aborted') return this.deps.inbox.release(id);
    const failures = (this.#failures.get(id) ?? 0) + 1;
    this.#failures.set(id, failures);
    // A wrong address or an expired token says nothing about the record: it is kept until someone mends that.
    const config = verdict.kind === 'failed' && verdict.failure === 'config';
    const permanent = verdict.kind === 'failed' && verdict.failure === 'permanent';
    if (config || (!permanent && failures <= this.options.retries)) return this.#rest(id, failures, verdict);
    this.#failures.delete(id);
    const { code, reason } = describe(verdict);
    return this.#park(id, code, reason);
  }

  #rest(id: number, failures: number, verdict: Verdict): void {
    const retryAfterMs = verdict.kind === 'failed' ? verdict.retryAfterMs : undefined;
    const delay = nextDelayMs({
      attempt: failures,
      initialMs: FIRST_RETRY_MS,
      maxMs: LONGEST_RETRY_MS,
      random: this.deps.random,
      retryAfterMs,
    });
    this.deps.inbox.release(id);
    if (!this.#open) return;
    this.#resting.add(id);
    this.#later(delay, () => this.#resting.delete(id));
  }

  async #park(id: number, code: string, reason: string): Promise<void> {
    await this.deps.inbox.park(id, { code, reason });
    this.deps.report(new Error(`${NOT_HANDLED}: ${reason} (${code})`));
  }

  #later(delayMs: number, first: () => void = () => undefined): void {
    if (!this.#open) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      first();
      void this.#pull();
    }, delayMs);
    this.#timers.add(timer);
  }
}

function describe(verdict: Verdict): { code: string; reason: string } {
  if (verdict.kind === 'failed') {
    const code = 'code' in verdict.error ? String(verdict.error.code) : 'ERR_SLUICE_DELIVERY_FAILED';
    return { code, reason: verdict.error.message };
  }
  const reason = verdict.kind === 'done' ? '' : verdict.reason;
  return { code: 'ERR_SLUICE_DELIVERY_TIMEOUT', reason };
}
