/**
 * Runs what one `on_receipt` source accepted: its sender was told 200, so a record leaves the inbox only when the flow
 * handled it, and stays as parked when the flow can't. An attempt is committed before the record is sent: one that
 * takes the process down each time is parked instead of being run for ever.
 */
import type { Admission, Refusal } from '../delivery/admission';
import { FLOW_RETRY_SECS, refuse } from '../delivery/admission';
import type { Hold } from '../delivery/contract';
import type { IncomingRecord, Receiver, TrackedRecord } from '../delivery/entry';
import type { Tally } from '../delivery/ledger';
import type { Verdict } from '../delivery/verdict';
import type { StoreError } from '../errors/errors';
import type { Message } from '../node-red/types';
import type { Quota } from '../quota/quota';
import { decodeRecord, encodeRecord } from '../queue/record-format';
import { MAX_CRASH_ATTEMPTS, type Inbox, type InboxRow, type KnownVerdict } from './contract';
import { CrashSuspects } from './crash-suspects';
import { fateOf } from './fate';
import { RoomWait } from './room-wait';

export const NOT_HANDLED = 'accepted (200) but not handled';

const LEFTOVER_CHECK_MS = 1000;
/** After a fault that isn't the record's. */
const FAULT_CHECK_MS = 1000;

export interface InboxRunnerOptions {
  readonly source: string;
  /** Records running at once. */
  readonly window: number;
  /** How often a record that failed transiently is run again before it is parked. */
  readonly retries: number;
  /** How long the answer is remembered for the sender's repeats; 0 = not. */
  readonly dedupeMs: number;
}

/** Why a record is given up: an error code, and the words for an operator. */
export interface Why {
  readonly code: string;
  readonly reason: string;
}

export interface InboxRunnerDeps {
  readonly inbox: Inbox;
  readonly admit: (bytes: number) => Admission;
  /** Room for the bytes of records that run. */
  readonly room: Pick<Quota, 'reserve' | 'free'>;
  readonly deliver: (
    record: TrackedRecord,
    attempt: number,
    holds: ReadonlyMap<string, Hold>,
  ) => Promise<Verdict>;
  readonly random: () => number;
  /**
   * Keeps a record that is given up in the dead letters, so that its row can go; without it, or where that can't be done,
   * the row itself is kept as parked. `verdict` is how its last delivery ended, if one did.
   */
  readonly giveUp?: (
    record: Pick<TrackedRecord, 'key' | 'receivedAt' | 'message'>,
    why: Why,
    verdict: Verdict | undefined,
  ) => Promise<void>;
  /** Counts for the ledger, kept with the inbox: a node's verdicts come after it has closed, too. */
  readonly tally: Tally;
  /** A record that is parked now, or a failure of the inbox itself. */
  readonly report: (error: Error) => void;
}

export class InboxRunner implements Receiver {
  readonly #failures = new Map<number, number>();
  /** Rows that wait for their next try, so that a pull doesn't start them early. */
  readonly #resting = new Set<number>();
  /** Rows that the flow has handled, but that couldn't be deleted: they mustn't run again. */
  readonly #handled = new Set<number>();
  readonly #suspects = new CrashSuspects();
  readonly #roomWait = new RoomWait(() => this.#pullAfterAll());
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #runs = new Set<Promise<void>>();
  #check: NodeJS.Timeout | undefined;
  #running = 0;
  #pulling = false;
  /** Room came while rows were being read: they may have been read too early. */
  #pullAgain = false;
  #troubled = false;
  #open = false;

  constructor(
    private readonly options: InboxRunnerOptions,
    private readonly deps: InboxRunnerDeps,
  ) {}

  /** Resolves when the records that are running now have been settled; undefined when there are none. */
  settled(): Promise<void> | undefined {
    return this.#runs.size === 0 ? undefined : Promise.all(this.#runs).then(() => undefined);
  }

  /** Records that the flow has at the moment. */
  get running(): number {
    return this.#running;
  }

  canAccept({ bytes }: IncomingRecord): Refusal | undefined {
    return this.deps.inbox.canTake(bytes) ? undefined : refuse('inbox', FLOW_RETRY_SECS);
  }

  async accept(
    { key, digest, bytes, message, receivedAt }: IncomingRecord,
    holds: ReadonlyMap<string, Hold> | undefined,
  ): Promise<void> {
    const { source, window, dedupeMs } = this.options;
    const mayRun = this.#open && holds !== undefined && this.#running < window;
    const started = mayRun && this.deps.room.reserve(bytes);
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
      this.deps.tally.accepted += 1;
      if (started) this.#follow(id, bytes, { key, message, receivedAt, row: id }, 1, holds);
    } catch (error) {
      if (started) this.#leave(bytes);
      throw error;
    }
    if (started) return;
    if (holds) releaseAll(holds);
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
    this.#roomWait.cancel();
  }

  /** Rows that the node before this one was still running when it was replaced, and gave back later. */
  #pullLeftovers(): void {
    const { pending } = this.deps.inbox.countsOf(this.options.source);
    if (pending > this.#running + this.#resting.size + this.#suspects.size) void this.#pull();
  }

  async #pull(): Promise<void> {
    if (this.#pulling || this.#roomWait.waits || !this.#open) return;
    this.#pulling = true;
    try {
      while (this.#open && this.#running < this.options.window) {
        const wanted = Math.min(this.options.window - this.#running, this.#roomWait.rows);
        const limit = wanted + this.#resting.size + this.#suspects.size;
        const rows = await this.deps.inbox.pending(this.options.source, limit);
        const ready = rows.filter(({ id }) => !this.#resting.has(id) && !this.#suspects.isWaiting(id));
        if (ready.length === 0 || !(await this.#startAll(ready))) break;
        this.#roomWait.ease();
      }
      this.#troubled = false;
    } catch (error) {
      // The check for leftovers tries again.
      if (!this.#troubled) this.#report(error);
      this.#troubled = true;
    } finally {
      this.#pulling = false;
    }
    if (!this.#pullAgain) return;
    this.#pullAgain = false;
    void this.#pull();
  }

  #pullAfterAll(): void {
    this.#pullAgain = this.#pulling;
    void this.#pull();
  }

  /** Starts rows until the flow has no room; says whether it has. One commit counts all their attempts. */
  async #startAll(rows: readonly InboxRow[]): Promise<boolean> {
    const starts: Promise<void>[] = [];
    for (const row of rows) {
      if (this.#suspects.admit(row)) starts.push(this.#startRow(row));
      if (this.#roomWait.waits || this.#running >= this.options.window) break;
    }
    const results = await Promise.allSettled(starts);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    return !this.#roomWait.waits;
  }

  async #startRow(row: InboxRow): Promise<void> {
    let runs = false;
    try {
      runs = await this.#begin(row);
    } finally {
      if (!runs) this.#suspects.ended(row.id);
    }
  }

  /** Whether it runs now; else it was dealt with, or stays pending. */
  async #begin(row: InboxRow): Promise<boolean> {
    const { id, attempts, record } = row;
    if (this.#handled.has(id)) {
      await this.#finish(id);
      return false;
    }
    if (attempts >= MAX_CRASH_ATTEMPTS) {
      await this.#giveUpCrashing(row);
      return false;
    }
    if (!this.deps.room.reserve(record.byteLength)) {
      this.#roomWait.begin();
      return false;
    }
    let runs = false;
    try {
      runs = await this.#beginWithRoom(row);
    } finally {
      if (!runs) this.deps.room.free(record.byteLength);
    }
    return runs;
  }

  async #beginWithRoom({ id, key, acceptedAt, record }: InboxRow): Promise<boolean> {
    let message: Message;
    try {
      message = decodeRecord(record);
    } catch (error) {
      const { code, message: reason } = error as StoreError;
      await this.#park(id, code, reason);
      return false;
    }
    const admission = this.deps.admit(record.byteLength);
    if (!admission.admitted) {
      this.#roomWait.begin();
      return false;
    }
    const begun = await this.#startAttempt(id, admission.holds);
    if (begun === undefined) return false;
    const attempt = begun + (this.#failures.get(id) ?? 0);
    const tracked = { key, message, receivedAt: acceptedAt, row: id };
    this.#follow(id, record.byteLength, tracked, attempt, admission.holds);
    return true;
  }

  /** The attempt's number, once it is committed; undefined if the row is gone or a deploy began meanwhile. */
  async #startAttempt(id: number, holds: ReadonlyMap<string, Hold>): Promise<number | undefined> {
    this.#running += 1;
    let begun: number | undefined;
    try {
      begun = await this.deps.inbox.startAttempt(id);
      if (begun === undefined || this.#open) return begun;
      this.deps.inbox.release(id);
      begun = undefined;
      return undefined;
    } finally {
      if (begun === undefined) {
        this.#running -= 1;
        releaseAll(holds);
      }
    }
  }

  #follow(
    id: number,
    bytes: number,
    record: TrackedRecord,
    attempt: number,
    holds: ReadonlyMap<string, Hold>,
  ): void {
    const run = this.#run(id, record, attempt, holds).finally(() => {
      this.#runs.delete(run);
      this.#leave(bytes);
      this.#suspects.ended(id);
      if (!this.#roomWait.end()) void this.#pull();
    });
    this.#runs.add(run);
  }

  #leave(bytes: number): void {
    this.#running -= 1;
    this.deps.room.free(bytes);
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
      await this.#settle(id, record, verdict);
    } catch (error) {
      // The row stays, for when the inbox works again.
      this.#putBack(id, FAULT_CHECK_MS);
      this.#report(error);
    } finally {
      // The delivery has released them, unless it never began.
      releaseAll(holds);
    }
  }

  async #settle(id: number, record: TrackedRecord, verdict: Verdict): Promise<void> {
    const failures = this.#failures.get(id) ?? 0;
    const fate = fateOf(verdict, failures, this.options.retries, this.deps.random);
    if (fate.kind === 'again') {
      if (fate.failed) this.#failures.set(id, failures + 1);
      return this.#putBack(id, fate.delayMs);
    }
    this.#failures.delete(id);
    const isKept = verdict.kind === 'failed' && verdict.kept;
    if (fate.kind === 'handled') return this.#finish(id);
    if (isKept) return this.#finish(id, 'dead');
    return this.#giveUp(id, record, fate, verdict);
  }

  async #finish(id: number, as: 'delivered' | 'dead' = 'delivered'): Promise<void> {
    this.#handled.add(id);
    await this.deps.inbox.finish(id);
    this.deps.tally[as] += 1;
    this.#handled.delete(id);
  }

  /** Makes a row pending again; while the flow runs, it isn't started before `delayMs` have passed. */
  #putBack(id: number, delayMs: number): void {
    this.deps.inbox.release(id);
    if (!this.#open) return;
    this.#resting.add(id);
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#resting.delete(id);
      void this.#pull();
    }, delayMs).unref();
    this.#timers.add(timer);
  }

  async #giveUpCrashing({ id, key, attempts, acceptedAt, record }: InboxRow): Promise<void> {
    const reason = `it was running each time the process ended, ${attempts} times`;
    const code = 'ERR_SLUICE_INBOX_CRASHES';
    let message: Message;
    try {
      message = decodeRecord(record);
    } catch {
      return this.#park(id, code, reason);
    }
    return this.#giveUp(id, { key, message, receivedAt: acceptedAt }, { code, reason }, undefined);
  }

  async #giveUp(
    id: number,
    record: Pick<TrackedRecord, 'key' | 'receivedAt' | 'message'>,
    { code, reason }: Why,
    verdict: Verdict | undefined,
  ): Promise<void> {
    const { giveUp } = this.deps;
    if (!giveUp) return this.#park(id, code, reason);
    try {
      await giveUp(record, { code, reason: `${NOT_HANDLED}: ${reason}` }, verdict);
    } catch (fault) {
      this.#report(fault);
      return this.#park(id, code, reason);
    }
    this.#tell(code, reason);
    return this.#finish(id, 'dead');
  }

  async #park(id: number, code: string, reason: string): Promise<void> {
    await this.deps.inbox.park(id, { code, reason });
    this.deps.tally.dead += 1;
    this.#tell(code, reason);
  }

  #tell(code: string, reason: string): void {
    this.deps.report(new Error(`${NOT_HANDLED}: ${reason} (${code})`));
  }

  #report(error: unknown): void {
    this.deps.report(error instanceof Error ? error : new Error(String(error)));
  }
}

function releaseAll(holds: ReadonlyMap<string, Hold>): void {
  for (const hold of holds.values()) hold.release();
}
