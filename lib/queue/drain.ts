/**
 * The delivery loop of a queue: leases records, hands them to `deliver` and settles each by its verdict.
 *
 * Invariants: at most `maxInFlight` records (and `MAX_BYTES_IN_FLIGHT` of them) are out at once; a record stays leased
 * until its settlement is committed, so one that can't be settled is delivered again after a restart and never lost;
 * with `fifo`, and with `key` among the records of a key, none overtakes one that waits for its next attempt, across
 * restarts too.
 */
import { AsyncResource } from 'node:async_hooks';
import { MAX_BYTES_IN_FLIGHT } from '../delivery/contract';
import type { Verdict } from '../delivery/verdict';
import { MAX_CRASHES, type LeasedRecord, type QueueStore, type Settlement } from './contract';
import { DrainPace } from './drain-pace';
import type { DeadSettlement, DrainOptions, DrainState, DrainTimers, Readiness } from './drain-options';
import { ReadyRecords } from './drain-ready';
import { endedTheProcess, settlementFor } from './drain-settlement';

/** How often a sink that was full, or an output that had no destination, is asked again when nobody tells of a change. */
const RECHECK_MS = 250;
/** Longest timer; a record due later is looked at again then. */
const MAX_TIMER_MS = 60_000;
const MIN_TIMER_MS = 10;
const SETTLE_RETRY_MS = 1000;
/** Records sent in one turn of the event loop: the sinks then have seen them before room for more is asked. */
const SENT_PER_TURN = 16;
/** The rest is for records that haven't failed yet: a destination that is down must not slow the others. */
const PARKED_SHARE = 3 / 4;

const REAL_TIMERS: DrainTimers = {
  set: (callback, ms) => setTimeout(callback, ms).unref(),
  clear: (timer) => clearTimeout(timer as NodeJS.Timeout),
};

export class Drain {
  readonly #options: DrainOptions;
  readonly #store: QueueStore;
  #maxInFlight: number;
  readonly #pace: DrainPace;
  readonly #now: () => number;
  readonly #random: () => number;
  readonly #timers: DrainTimers;
  readonly #removeListener: () => void;
  readonly #deliveries = new Set<Promise<void>>();
  readonly #settling = new Set<Promise<boolean>>();
  readonly #ready: ReadyRecords;
  /** In the context of the constructor: a change of the store may come from a message that a lineage follows. */
  readonly #runApart = AsyncResource.bind(() => this.#run());
  #round: Promise<void> = Promise.resolve();
  #bytesInFlight = 0;
  #lastNow = 0;
  #running = false;
  #wakeAgain = false;
  #paused = true;
  #closed = false;
  #waiting: Exclude<Readiness, 'ready'> | undefined;
  #timer: unknown;

  /** Starts paused; `resume` when the flows run. */
  constructor(options: DrainOptions) {
    this.#options = options;
    this.#store = options.store;
    this.#maxInFlight = options.policy.ordering === 'fifo' ? 1 : options.policy.maxInFlight;
    this.#pace = new DrainPace(this.#maxInFlight, options.policy.retryInitialMs);
    this.#ready = new ReadyRecords(options, (settlement) => this.#track(this.#settle(settlement)));
    this.#now = options.now ?? Date.now;
    this.#random = options.random ?? Math.random;
    this.#timers = options.timers ?? REAL_TIMERS;
    this.#removeListener = this.#store.onChange(() => this.wake());
  }

  /** Records handed to `deliver` and not settled yet. */
  get inFlight(): number {
    return this.#deliveries.size;
  }

  get state(): DrainState {
    if (this.#closed) return 'closed';
    if (this.#paused) return 'paused';
    if (this.#waiting !== undefined) return this.#waiting;
    if (this.inFlight > 0) return 'delivering';
    return this.#store.counts().parked > 0 ? 'retrying' : 'idle';
  }

  /** Whether it is about to send further records; else it waits for a verdict, for room, for a time or for a record. */
  get hasMore(): boolean {
    return this.#running && !this.#closed && !this.#paused;
  }

  /** Stops handing out records; those in flight go on to their verdict. */
  pause(): void {
    this.#paused = true;
  }

  /** Sends again; with another bound of records in flight, if one is given. */
  resume(maxInFlight?: number): void {
    if (maxInFlight !== undefined && this.#options.policy.ordering !== 'fifo') {
      this.#maxInFlight = maxInFlight;
      this.#pace.maxInFlight = maxInFlight;
    }
    this.#paused = false;
    this.#pace.reset();
    this.wake();
  }

  /** Looks for work: something changed that may let a record go out. */
  wake(): void {
    if (this.#running) {
      this.#wakeAgain = true;
      return;
    }
    this.#running = true;
    this.#round = this.#runApart();
  }

  /**
   * Stops for good. Resolves when the settlements under way are committed, at most after `timeoutMs`. Deliveries still
   * without a verdict go on; `settled` tells when they have ended. What was leased and not sent is left to the next
   * drain over the same store, or to the store's own close.
   */
  async close(timeoutMs: number): Promise<void> {
    this.#closed = true;
    this.#removeListener();
    this.#timers.clear(this.#timer);
    this.#ready.leave();
    let timer: unknown;
    const bound = new Promise<void>((resolve) => {
      timer = this.#timers.set(resolve, timeoutMs);
    });
    await Promise.race([Promise.allSettled(this.#settling), bound]);
    this.#timers.clear(timer);
  }

  /** Resolves when every delivery in flight has been settled, and nothing more is being leased. */
  async settled(): Promise<void> {
    await this.#round;
    while (this.#deliveries.size > 0) await Promise.allSettled(this.#deliveries);
  }

  async #run(): Promise<void> {
    try {
      do {
        this.#wakeAgain = false;
        await this.#fill();
      } while (this.#wakeAgain);
    } catch (cause) {
      this.#options.onError?.(asError(cause));
      this.#wakeIn(SETTLE_RETRY_MS);
    } finally {
      this.#running = false;
    }
  }

  /** Sends out what may go now, and sets the timer for what may go later. */
  async #fill(): Promise<void> {
    let sent = 0;
    while (!this.#closed && !this.#paused) {
      const now = this.#now();
      const pauseMs = this.#pace.waitMs(now);
      if (pauseMs > 0) return this.#wakeIn(pauseMs);
      const room = this.#pace.window - this.inFlight;
      if (room <= 0 || this.#bytesInFlight >= MAX_BYTES_IN_FLIGHT) return;
      if (this.#ready.list.length === 0) {
        this.#waiting = this.#obstacle(0);
        if (this.#waiting !== undefined) return this.#wakeIn(RECHECK_MS);
        if (!(await this.#lease(room, now))) return;
        continue;
      }
      const [next] = this.#ready.list;
      if (next === undefined) return;
      this.#waiting = this.#obstacle(next.record.byteLength);
      if (this.#waiting !== undefined) return this.#wakeIn(RECHECK_MS);
      this.#ready.list.shift();
      this.#send(next);
      sent += 1;
      if (sent % SENT_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    // Closed while a lease was on its way, and the next drain has taken over already.
    if (this.#closed) for (const lease of this.#ready.orphans()) this.#giveBack(lease);
  }

  /** Leases what the order allows. False when there is nothing to do now; the timer is set for what comes later. */
  async #lease(room: number, now: number): Promise<boolean> {
    const ready = this.#ready;
    await ready.prepare();
    if (this.#closed) return true;
    // The clock was set back: asked for nothing, the store still learns the time, and when its records are due now.
    if (now < this.#lastNow) await this.#store.lease(0, 1);
    this.#lastNow = now;
    const dueAt = this.#store.nextDueAt();
    const onlyParked = ready.onlyParked(dueAt, now);
    if (!onlyParked || (dueAt !== undefined && dueAt <= now)) {
      const maxBytes = MAX_BYTES_IN_FLIGHT - this.#bytesInFlight - ready.waitingBytes;
      const leased = await this.#store.lease(
        onlyParked ? 1 : room,
        Math.max(1, maxBytes),
        onlyParked || this.#maxInFlight === 1 ? undefined : Math.ceil(this.#maxInFlight * PARKED_SHARE),
      );
      for (const lease of leased) ready.add(lease);
      if (leased.length > 0) return true;
    }
    if (ready.list.length > 0 || ready.mayRecall) return true;
    const wakeAt = Math.min(dueAt ?? Infinity, ready.nextCheckAt() ?? Infinity);
    if (wakeAt < Infinity) this.#wakeIn(Math.max(MIN_TIMER_MS, wakeAt - now));
    else if (this.inFlight === 0 && this.#store.counts().parked > 0) {
      // Held for a lane that no longer knows of them: delivered late and out of order beats never.
      await this.#store.releaseHeld();
      this.#wakeIn(RECHECK_MS);
    }
    return false;
  }

  #obstacle(bytes: number): Exclude<Readiness, 'ready'> | undefined {
    const readiness = this.#options.readiness(bytes);
    return readiness === 'ready' ? undefined : readiness;
  }

  #send(lease: LeasedRecord): void {
    this.#bytesInFlight += lease.record.byteLength;
    const delivery = this.#deliverAndSettle(lease)
      .catch((cause: unknown) => this.#options.onError?.(asError(cause)))
      .finally(() => {
        this.#deliveries.delete(delivery);
        this.#bytesInFlight -= lease.record.byteLength;
        if (!this.#closed) this.wake();
      });
    this.#deliveries.add(delivery);
  }

  async #deliverAndSettle(lease: LeasedRecord): Promise<void> {
    let verdict: Verdict;
    try {
      verdict = lease.crashes < MAX_CRASHES ? await this.#options.deliver(lease) : endedTheProcess(lease);
    } catch (cause) {
      verdict = { kind: 'failed', failure: 'transient', error: asError(cause) };
    }
    const now = this.#now();
    this.#pace.note(verdict, now);
    let settlement = settlementFor(verdict, lease, this.#options.policy, now, this.#random);
    if (settlement.outcome === 'dead') settlement = await this.#bury(lease, settlement, verdict);
    if (!(await this.#track(this.#settle(settlement)))) return;
    this.#ready.ended(lease, settlement);
    this.#options.onSettled?.(lease, settlement, verdict);
  }

  async #bury(lease: LeasedRecord, dead: DeadSettlement, verdict: Verdict): Promise<Settlement> {
    if (verdict.kind === 'failed' && verdict.kept) return { ...dead, kept: true };
    try {
      return (await this.#options.bury?.(lease, dead, verdict)) ? { ...dead, kept: true } : dead;
    } catch (cause) {
      this.#options.onError?.(asError(cause));
      const dueAt = this.#now() + this.#options.policy.retryMaxMs;
      return { seq: lease.seq, outcome: 'retry', dueAt, spend: false, unknown: false };
    }
  }

  /** Tries until the store has it, or is closed: then false, and the record is delivered again after the next start. */
  async #settle(settlement: Settlement): Promise<boolean> {
    for (;;) {
      try {
        await this.#store.settle(settlement);
        return true;
      } catch (cause) {
        this.#options.onError?.(asError(cause));
        if (this.#closed) return false;
        await new Promise<void>((resolve) => {
          this.#timers.set(resolve, SETTLE_RETRY_MS);
        });
      }
    }
  }

  #giveBack({ seq }: LeasedRecord): void {
    void this.#track(
      this.#settle({ seq, outcome: 'retry', dueAt: this.#now(), spend: false, unknown: false }),
    );
  }

  async #track(settling: Promise<boolean>): Promise<boolean> {
    this.#settling.add(settling);
    const committed = await settling;
    this.#settling.delete(settling);
    return committed;
  }

  #wakeIn(ms: number): void {
    this.#timers.clear(this.#timer);
    this.#timer = this.#timers.set(() => this.wake(), Math.min(Math.max(1, ms), MAX_TIMER_MS));
  }
}

function asError(cause: unknown): Error {
  return cause instanceof Error ? cause : new Error(String(cause));
}
