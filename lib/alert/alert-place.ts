import type { AlertKind } from '../config/alert-kinds';
import type { FullPolicy } from '../delivery/contract';
import { ownCodeOf } from '../errors/errors';
import type { Alarm } from './alarm';
import type { PlaceName } from './alert-machine';
import {
  BoundCondition,
  LastingCondition,
  RepeatedCondition,
  SilenceCondition,
  type Condition,
} from './conditions';
import type { LossReason } from './losses';

/** Kinds of trouble that last until they are cleared. */
export type LastingKind = Extract<AlertKind, 'fault' | 'degraded' | 'halted' | 'routing' | 'ledger'>;
/** Kinds that are told of by single events. */
export type EventKind = Extract<AlertKind, 'dead' | 'fault' | 'late'>;

/**
 * How a node, or a part of the runtime, tells what happens to it. Counters, log lines and alerts follow from that: the
 * node writes none of its own.
 */
export interface AlertPlace {
  /** Has a bounded queue looked after, from now until `close`. */
  watch(alarm: Alarm, policy: FullPolicy): void;
  /** A source that listeners may want to hear of when it is silent; `accepted` only grows. */
  expectRecords(accepted: () => number): void;
  /** Counts records as dropped. Evictions of a watched queue are announced by its level, all other losses by themselves. */
  lost(reason: LossReason, records?: number): void;
  /** A trouble begins, or still lasts: say so as often as it shows. */
  raise(kind: LastingKind, trouble: Error): void;
  /** It is over; without a kind, all that was raised here. */
  clear(kind?: LastingKind): void;
  /** Something happened that has no end of its own. `detail` is shown: no payload and no secret. */
  happened(kind: EventKind, what: string, detail: string, records?: number): void;
  /** The node closes. Should it come back with the deploy, what was told stays told. */
  close(): void;
}

interface PlaceDeps {
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly dropped: (place: string, reason: LossReason, records: number) => void;
  /** Looks at one condition without waiting for the next round. */
  readonly examine: (condition: Condition) => void;
}

/** The conditions of one place, over redeploys of its node. */
export class PlaceConditions {
  readonly conditions = new Map<string, Condition>();
  /** Whose it is now; undefined between two nodes of the same id. */
  owner: AlertPlace | undefined;

  constructor(
    public name: PlaceName,
    private readonly deps: PlaceDeps,
  ) {}

  /** Hands the place to a node; an older one's `close` means nothing from then on. */
  open(name: PlaceName): AlertPlace {
    const wasUsed = this.owner !== undefined || this.conditions.size > 0;
    this.name = name;
    if (wasUsed) for (const condition of this.conditions.values()) condition.reopened(this.deps.now());
    const handle: AlertPlace = {
      watch: (alarm, policy) => {
        if (this.owner !== handle) return;
        this.conditions.set('queue', new BoundCondition(alarm, policy));
        // A rate needs the series to be there before the first loss.
        this.deps.dropped(this.name.name, 'evicted', 0);
      },
      expectRecords: (accepted) => {
        if (this.owner === handle) this.#expectRecords(accepted);
      },
      lost: (reason, records = 1) => this.#lost(reason, records),
      raise: (kind, trouble) => {
        if (this.owner === handle) this.#raise(kind, trouble);
      },
      clear: (kind) => {
        if (this.owner === handle) this.#clear(kind);
      },
      happened: (kind, what, detail, records = 1) => this.#happened(kind, what, records, { detail }),
      close: () => {
        if (this.owner === handle) this.owner = undefined;
      },
    };
    this.owner = handle;
    return handle;
  }

  #expectRecords(accepted: () => number): void {
    const known = this.conditions.get('silence');
    if (known instanceof SilenceCondition) known.follow(accepted);
    else this.conditions.set('silence', new SilenceCondition(accepted, this.deps.now()));
  }

  #lost(reason: LossReason, records: number): void {
    if (records <= 0) return;
    this.deps.dropped(this.name.name, reason, records);
    if (reason === 'evicted' && this.conditions.has('queue')) return;
    this.#happened('loss', reason, records, {});
  }

  #raise(kind: LastingKind, trouble: Error): void {
    const what = ownCodeOf(trouble) ?? trouble.name;
    const condition = this.#lasting(kind, what);
    condition.raise({ detail: trouble.message });
    this.deps.examine(condition);
  }

  #clear(kind: LastingKind | undefined): void {
    for (const condition of this.conditions.values()) {
      if (!(condition instanceof LastingCondition)) continue;
      if (kind === undefined || condition.kind === kind) condition.clear(this.deps.now());
    }
  }

  #happened(kind: EventKind | 'loss', what: string, records: number, values: { detail?: string }): void {
    const key = `${kind} ${what} event`;
    const known = this.conditions.get(key);
    const condition = known instanceof RepeatedCondition ? known : new RepeatedCondition(kind, what);
    this.conditions.set(key, condition);
    condition.happened(this.deps.now(), records, values);
    this.deps.examine(condition);
  }

  #lasting(kind: LastingKind, what: string): LastingCondition {
    const key = `${kind} ${what}`;
    const known = this.conditions.get(key);
    if (known instanceof LastingCondition) return known;
    const condition = new LastingCondition(kind, what);
    this.conditions.set(key, condition);
    return condition;
  }
}
