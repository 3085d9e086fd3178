import type { Alert } from '#lib/alert/alert-machine';
import type { Verdict } from '#lib/delivery/verdict';
import { nextDelayMs } from '#lib/delivery/retry';

/** What waits is bounded: an alert that nobody could deliver for hours says less than the newest ones. */
const MAX_WAITING = 100;
const RETRY = { initialMs: 1000, maxMs: 60_000 };

export interface Waiting {
  readonly alert: Alert;
  attempts: number;
}

export interface OutboxOptions {
  /** Sends an alert and resolves with what became of it. Never rejects. */
  readonly deliver: (alert: Alert, attempt: number) => Promise<Verdict>;
  readonly onSettled: (verdict: Verdict) => void;
  /** An old alert made room for a new one. */
  readonly onDropped: () => void;
  readonly random: () => number;
}

/**
 * The alerts that a node still has to deliver: one at a time, in their order, so that no recovery overtakes its alarm;
 * one that fails is tried again, for ever, unless a hundred newer ones wait behind it.
 */
export class AlertOutbox {
  readonly #options: OutboxOptions;
  readonly #waiting: Waiting[];
  #timer: NodeJS.Timeout | undefined;
  #isOpen = false;
  #isBusy = false;

  /** `waiting` is what the node before this one left, see `close`. */
  constructor(options: OutboxOptions, waiting: readonly Waiting[] = []) {
    this.#options = options;
    this.#waiting = [...waiting];
  }

  get size(): number {
    return this.#waiting.length;
  }

  add(alert: Alert): void {
    if (this.#waiting.length >= MAX_WAITING) {
      // The first one may be out for delivery.
      this.#waiting.splice(this.#isBusy ? 1 : 0, 1);
      this.#options.onDropped();
    }
    this.#waiting.push({ alert, attempts: 0 });
    this.#next();
  }

  /** Nobody is there to deliver to. */
  clear(): void {
    this.#waiting.length = 0;
  }

  pause(): void {
    this.#isOpen = false;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  resume(): void {
    this.#isOpen = true;
    this.#next();
  }

  /** Gives what isn't delivered, for the node that comes after a deploy. */
  close(): readonly Waiting[] {
    this.pause();
    return this.#waiting;
  }

  #next(): void {
    const [first] = this.#waiting;
    if (!first || !this.#isOpen || this.#isBusy || this.#timer) return;
    this.#isBusy = true;
    first.attempts += 1;
    void this.#options.deliver(first.alert, first.attempts).then((verdict) => {
      this.#isBusy = false;
      this.#options.onSettled(verdict);
      if (isFinal(verdict)) this.#waiting.shift();
      else if (this.#isOpen) this.#wait(first.attempts);
      this.#next();
    });
  }

  #wait(attempt: number): void {
    const delayMs = nextDelayMs({ attempt, ...RETRY, random: this.#options.random });
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#next();
    }, delayMs).unref();
  }
}

/** What can never be delivered is in the dead letters by now; those behind it may still be of use. */
function isFinal(verdict: Verdict): boolean {
  return verdict.kind === 'done' || (verdict.kind === 'failed' && verdict.failure === 'permanent');
}
