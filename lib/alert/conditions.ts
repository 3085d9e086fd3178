/**
 * What can be wrong at one place, each as something that can be looked at for its level: a bounded queue, a trouble that
 * lasts until it is cleared, and events that count as over once none has come for a while. Pure but for their own state.
 */
import type { AlertKind } from '../config/alert-kinds';
import type { FullPolicy } from '../delivery/contract';
import type { Alarm } from './alarm';
import { levelOf, type Level } from './levels';

/** What a listener to alerts can set for itself. */
export interface Thresholds {
  /** Percentage of its bound from which on a queue is `high`. */
  readonly highPct: number;
  /** How long a source may go without a record; 0 is for ever. */
  readonly silenceMs: number;
}

export type AlertValues = Readonly<Record<string, string | number>>;

/** One condition at the moment of a check. */
export interface Look {
  level(thresholds: Thresholds): Level;
  /** What to show in the text, and beside it. */
  readonly values: AlertValues;
  /** Records concerned, ever: a notice tells how many there were since the one before it. */
  readonly total: number;
}

export interface Condition {
  readonly kind: AlertKind;
  /** The case within the kind: a policy, a reason, an error code. */
  readonly what: string;
  /** Undefined while nothing can be said. `nowMs` is monotonic. */
  look(nowMs: number): Look | undefined;
  /** Nothing of it is left to tell: it can be forgotten. */
  isOver(nowMs: number): boolean;
  /** The node of this place was closed by a deploy and is back: what was wrong with the old one needn't be now. */
  reopened(nowMs: number): void;
}

/** A queue, backlog or inbox with a bound. */
export class BoundCondition implements Condition {
  readonly kind = 'queue';

  constructor(
    private readonly alarm: Alarm,
    readonly what: FullPolicy,
  ) {}

  look(): Look | undefined {
    const fill = this.alarm.look();
    if (!fill) return undefined;
    const { used, limit } = fill;
    const fillPct = limit > 0 ? Math.floor((used / limit) * 1000) / 10 : 0;
    return {
      level: ({ highPct }) => levelOf({ ...fill, highPct }),
      values: { used, limit, fillPct },
      total: this.alarm.read()?.refusedOrEvicted ?? 0,
    };
  }

  isOver(): boolean {
    return false;
  }

  /** The new node brings an alarm of its own. */
  reopened(): void {}
}

/** A trouble that comes back within this time hasn't been over: a worker that dies each second rings once. */
const SETTLE_MS = 5000;

/** Something that is so until it is no longer so. */
export class LastingCondition implements Condition {
  #values: AlertValues = {};
  #isRaised = false;
  #clearedAt = Number.NEGATIVE_INFINITY;
  #times = 0;

  constructor(
    readonly kind: AlertKind,
    readonly what: string,
  ) {}

  raise(values: AlertValues): void {
    this.#values = values;
    if (!this.#isRaised) this.#times += 1;
    this.#isRaised = true;
  }

  clear(nowMs: number): void {
    if (this.#isRaised) this.#clearedAt = nowMs;
    this.#isRaised = false;
  }

  look(nowMs: number): Look {
    const isOver = this.isOver(nowMs);
    return { level: () => (isOver ? 'ok' : 'full'), values: this.#values, total: this.#times };
  }

  isOver(nowMs: number): boolean {
    return !this.#isRaised && nowMs - this.#clearedAt >= SETTLE_MS;
  }

  reopened(nowMs: number): void {
    this.clear(nowMs);
  }
}

/** Events of which each is a matter of its own; over when none has come for `quietMs`. */
export class RepeatedCondition implements Condition {
  #values: AlertValues = {};
  #total = 0;
  #lastAt = Number.NEGATIVE_INFINITY;

  constructor(
    readonly kind: AlertKind,
    readonly what: string,
    private readonly quietMs = 600_000,
  ) {}

  happened(nowMs: number, records: number, values: AlertValues): void {
    this.#lastAt = nowMs;
    this.#total += records;
    this.#values = values;
  }

  look(nowMs: number): Look {
    const isOver = this.isOver(nowMs);
    return { level: () => (isOver ? 'ok' : 'full'), values: this.#values, total: this.#total };
  }

  isOver(nowMs: number): boolean {
    return nowMs - this.#lastAt >= this.quietMs;
  }

  reopened(): void {}
}

/** A source that should have records; how long it may have none is for each listener to say. */
export class SilenceCondition implements Condition {
  readonly kind = 'silence';
  readonly what = 'source';
  #count: number;
  #since: number;

  constructor(
    private accepted: () => number,
    nowMs: number,
  ) {
    this.#count = accepted();
    this.#since = nowMs;
  }

  /** The source was deployed again and counts anew; that is no record. */
  follow(accepted: () => number): void {
    this.accepted = accepted;
    this.#count = accepted();
  }

  look(nowMs: number): Look {
    const count = this.accepted();
    if (count !== this.#count) this.#since = nowMs;
    this.#count = count;
    const silentMs = nowMs - this.#since;
    return {
      level: ({ silenceMs }) => (silenceMs > 0 && silentMs >= silenceMs ? 'full' : 'ok'),
      values: { minutes: Math.floor(silentMs / 60_000) },
      total: 0,
    };
  }

  isOver(): boolean {
    return false;
  }

  reopened(): void {}
}
