/**
 * The delivery loop of a queue: leases records, hands them to `deliver` and settles each by its verdict.
 *
 * Invariants: at most `maxInFlight` records (and `MAX_BYTES_IN_FLIGHT` of them) are out at once; a record stays leased
 * until its settlement is committed, so one that can't be settled is delivered again after a restart and never lost;
 * with `fifo` no record overtakes one that waits for its next attempt, across restarts too.
 */
import type { Verdict } from '../delivery/verdict';
import type { LeasedRecord, QueueStore, Settlement } from './contract';
import { DrainLanes, type GivenBack } from './drain-lanes';
import { DrainPace } from './drain-pace';
import type { DrainOptions, DrainState, DrainTimers, Readiness } from './drain-options';
import { settlementFor } from './drain-settlement';

const MAX_BYTES_IN_FLIGHT = 32 * 1024 * 1024;
/** How often a sink that was full, or an output that had no destination, is asked again when nobody tells of a change. */
const RECHECK_MS = 250;
/** Longest timer; a record due later is looked at again then. */
const MAX_TIMER_MS = 60_000;
const MIN_TIMER_MS = 10;
const SETTLE_RETRY_MS = 1000;
/** Records sent in one turn of the event loop: the sinks then have seen them before room for more is asked. */
const SENT_PER_TURN = 16;

const REAL_TIMERS: DrainTimers = {
  set: (callback, ms) => setTimeout(callback, ms).unref(),
  clear: (timer) => clearTimeout(timer as NodeJS.Timeout),
};

export class Drain {
  readonly #options: DrainOptions;
  readonly #store: QueueStore;
  readonly #maxInFlight: number;
  readonly #pace: DrainPace;
  readonly #lanes: DrainLanes | undefined;
  readonly #now: () => number;
  readonly #random: () => number;
  readonly #timers: DrainTimers;
  readonly #removeListener: () => void;
  readonly #deliveries = new Set<Promise<void>>();
  readonly #settling = new Set<Promise<boolean>>();
  /** Leased, but the sink became full or a deploy began before they could go out. */
  #ready: LeasedRecord[] = [];
  #bytesInFlight = 0;
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
    if (options.policy.ordering === 'key' && options.keyOf) {
      this.#lanes = new DrainLanes(options.keyOf, this.#maxInFlight, this.#store.counts().parked);
    }
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

  /** Stops handing out records; those in flight go on to their verdict. */
  pause(): void {
    this.#paused = true;
  }

  resume(): void {
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
    void this.#run();
  }

  /**
   * Stops for good. Resolves when the settlements under way are committed and what was leased but not sent is given
   * back, at most after `timeoutMs`. Deliveries still without a verdict go on; `settled` tells when they have ended.
   */
  async close(timeoutMs: number): Promise<void> {
    this.#closed = true;
    this.#removeListener();
    this.#timers.clear(this.#timer);
    void this.#giveBackLeased();
    let timer: unknown;
    const bound = new Promise<void>((resolve) => {
      timer = this.#timers.set(resolve, timeoutMs);
    });
    await Promise.race([Promise.allSettled(this.#settling), bound]);
    this.#timers.clear(timer);
  }

  /** Resolves when every delivery in flight has been settled. */
  async settled(): Promise<void> {
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
      if (now < this.#pace.holdOffUntil) return this.#wakeIn(this.#pace.holdOffUntil - now);
      const room = this.#maxInFlight - this.inFlight;
      if (room <= 0 || this.#bytesInFlight >= MAX_BYTES_IN_FLIGHT) return;
      if (this.#ready.length === 0) {
        this.#waiting = this.#obstacle(0);
        if (this.#waiting !== undefined) return this.#wakeIn(RECHECK_MS);
        if (!(await this.#lease(room, now))) return;
        continue;
      }
      const [next] = this.#ready;
      if (next === undefined) return;
      this.#waiting = this.#obstacle(next.record.byteLength);
      if (this.#waiting !== undefined) return this.#wakeIn(RECHECK_MS);
      this.#ready.shift();
      this.#send(next);
      sent += 1;
      if (sent % SENT_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    // Closed while a lease was on its way.
    if (this.#closed) void this.#giveBackLeased();
  }

  /** Leases what the order allows. False when there is nothing to do now; the timer is set for what comes later. */
  async #lease(room: number, now: number): Promise<boolean> {
    const lanes = this.#lanes;
    const dueAt = this.#store.nextDueAt();
    if (lanes) this.#ready.push(...lanes.released(dueAt, now));
    const onlyParked =
      lanes?.onlyParked(this.#store.counts().parked) ??
      (this.#options.policy.ordering === 'fifo' && dueAt !== undefined);
    if (!onlyParked || (dueAt !== undefined && dueAt <= now)) {
      const maxBytes = MAX_BYTES_IN_FLIGHT - this.#bytesInFlight - (lanes?.waitingBytes ?? 0);
      const leased = await this.#store.lease(onlyParked ? 1 : room, Math.max(1, maxBytes));
      for (const lease of leased) if (lanes?.admit(lease) ?? true) this.#ready.push(lease);
      if (leased.length > 0) return true;
    }
    if (this.#ready.length > 0) return true;
    if (dueAt !== undefined) this.#wakeIn(Math.max(MIN_TIMER_MS, dueAt - now));
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
      verdict = await this.#options.deliver(lease);
    } catch (cause) {
      verdict = { kind: 'failed', failure: 'transient', error: asError(cause) };
    }
    const now = this.#now();
    this.#pace.note(verdict, now);
    const settlement = settlementFor(verdict, lease, this.#options.policy, now, this.#random);
    if (!(await this.#track(this.#settle(settlement)))) return;
    const next = this.#lanes?.ended(settlement);
    if (next) this.#ready.push(next);
    if (this.#closed) await this.#giveBackLane(lease.seq);
    this.#options.onSettled?.(lease, settlement, verdict);
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

  /** Returns everything that is leased and not out, so that the next owner of the store gets it in order. */
  async #giveBackLeased(): Promise<void> {
    const now = this.#now();
    const ready = this.#ready.splice(0);
    await this.#giveBack([
      ...ready.flatMap((lease) => [{ lease, dueAt: now }, ...(this.#lanes?.giveBack(now, lease.seq) ?? [])]),
      ...(this.#lanes?.giveBack(now) ?? []),
    ]);
  }

  /** The head of a lane ended after `close`: what waited for it goes back behind it. */
  async #giveBackLane(seq: number): Promise<void> {
    if (this.#ready.length > 0) return this.#giveBackLeased();
    await this.#giveBack(this.#lanes?.giveBack(this.#now(), seq) ?? []);
  }

  async #giveBack(leases: readonly GivenBack[]): Promise<void> {
    const settling = leases.map(({ lease: { seq }, dueAt }) =>
      this.#track(this.#settle({ seq, outcome: 'retry', dueAt, spend: false, unknown: false })),
    );
    await Promise.all(settling);
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
