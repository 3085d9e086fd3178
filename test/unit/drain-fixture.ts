import { DONE, type Verdict } from '#lib/delivery/verdict';
import type { LeasedRecord, Settlement } from '#lib/queue/contract';
import { Drain } from '#lib/queue/drain';
import type { DrainOptions, DrainPolicy, Readiness } from '#lib/queue/drain-options';
import { MemoryStore } from '#lib/queue/memory-store';

/** A clock that moves only when told to; timers fire on the way, in order. */
export class FakeClock {
  nowMs = 1_000_000;
  readonly #timers = new Map<number, { at: number; callback: () => void }>();
  #ids = 0;

  readonly now = () => this.nowMs;

  set(callback: () => void, ms: number): unknown {
    const id = ++this.#ids;
    this.#timers.set(id, { at: this.nowMs + ms, callback });
    return id;
  }

  clear(timer: unknown): void {
    this.#timers.delete(timer as number);
  }

  async advance(ms: number): Promise<void> {
    const end = this.nowMs + ms;
    for (;;) {
      await flush();
      const next = [...this.#timers].sort(([, a], [, b]) => a.at - b.at)[0];
      if (next === undefined || next[1].at > end) break;
      this.nowMs = Math.max(this.nowMs, next[1].at);
      this.#timers.delete(next[0]);
      next[1].callback();
    }
    this.nowMs = end;
    await flush();
  }
}

/** Lets everything that waits for promises or immediates, not for time, happen. */
export async function flush(): Promise<void> {
  for (let turn = 0; turn < 40; turn++) await new Promise((resolve) => setImmediate(resolve));
}

export const transient = (code = 'ECONNREFUSED', retryAfterMs?: number): Verdict => ({
  kind: 'failed',
  failure: 'transient',
  error: Object.assign(new Error(`failed with ${code}`), { code }),
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
});
export const failed = (failure: 'permanent' | 'config', code: string): Verdict => ({
  kind: 'failed',
  failure,
  error: Object.assign(new Error(`failed with ${code}`), { code }),
});
export const unknown: Verdict = { kind: 'unknown', reason: 'no verdict in time', open: ['node'] };
export const aborted: Verdict = { kind: 'aborted', reason: 'deploy' };

export interface Attempt {
  readonly text: string;
  readonly at: number;
  readonly lease: LeasedRecord;
  readonly end: (verdict: Verdict) => void;
}

export const POLICY: DrainPolicy = {
  maxInFlight: 4,
  ordering: 'none',
  maxAttempts: 0,
  maxUnknown: 5,
  retryInitialMs: 1000,
  retryMaxMs: 60_000,
};

/** A drain over a memory store and a fake clock, with what it did. */
export class DrainFixture {
  readonly clock = new FakeClock();
  readonly store = new MemoryStore(this.clock.now);
  /** Deliveries in order; each waits for its `end` unless `answer` decides at once. */
  readonly attempts: Attempt[] = [];
  readonly settled: { readonly settlement: Settlement; readonly text: string }[] = [];
  answer: ((lease: LeasedRecord, text: string) => Verdict | undefined) | undefined = () => DONE;
  readiness: Readiness = 'ready';
  drain: Drain;
  readonly #options: DrainOptions;

  constructor(policy: Partial<DrainPolicy> = {}, options: Partial<DrainOptions> = {}) {
    this.#options = {
      store: this.store,
      policy: { ...POLICY, ...policy },
      deliver: (lease) => this.#deliver(lease),
      readiness: () => this.readiness,
      onSettled: (lease, settlement) => this.settled.push({ settlement, text: textOf(lease) }),
      now: this.clock.now,
      random: () => 0.5,
      timers: this.clock,
      ...options,
    };
    this.drain = new Drain(this.#options);
  }

  pause(): void {
    this.drain.pause();
  }

  resume(): void {
    this.drain.resume();
  }

  /** As a deploy does: the next drain takes the store over when the last deliveries of this one have been settled. */
  async redeploy(): Promise<void> {
    const before = this.drain;
    before.pause();
    const closed = before.close(1000);
    for (const attempt of this.attempts) attempt.end({ kind: 'aborted', reason: 'deploy' });
    await Promise.all([closed, before.settled()]);
    this.drain = new Drain(this.#options);
    this.drain.resume();
    await flush();
  }

  async append(...texts: string[]): Promise<void> {
    for (const text of texts) await this.store.append(Buffer.from(text));
    await flush();
  }

  texts(): string[] {
    return this.attempts.map(({ text }) => text);
  }

  #deliver(lease: LeasedRecord): Promise<Verdict> {
    return new Promise((end) => {
      const text = textOf(lease);
      this.attempts.push({ text, at: this.clock.nowMs, lease, end });
      const verdict = this.answer?.(lease, text);
      if (verdict) end(verdict);
    });
  }
}

export function textOf(lease: Pick<LeasedRecord, 'record'>): string {
  return Buffer.from(lease.record).toString();
}
