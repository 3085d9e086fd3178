import type { AlertKind } from '../config/alert-kinds';
import type { Condition, Look, Thresholds } from './conditions';
import { checkAlert, INITIAL_ALERT, type AlertState, type Level, type Notice } from './levels';

/** Where something is wrong: a node, or a part of the runtime that several of them use. */
export interface PlaceName {
  /** The node's id; a word for a part of the runtime, such as `inbox`. */
  readonly id: string;
  readonly name: string;
  readonly type: string;
  /** Tab or subflow instance of a node. */
  readonly z?: string;
}

export interface Alert extends Notice {
  readonly kind: AlertKind;
  /** The case within the kind: the policy of a full queue, the reason of a loss, an error code. */
  readonly what: string;
  readonly place: PlaceName;
  /** Records concerned since the last notice of the same: refused, evicted, lost. Times, where it isn't about records. */
  readonly count: number;
  /** `used`, `limit` and `fillPct` of a queue, else `detail` and the like. */
  readonly values: Look['values'];
  /** For a person, in the runtime's language. */
  readonly text: string;
  /** Unix ms. */
  readonly at: number;
}

export interface ListenerOptions extends Thresholds {
  readonly repeatMs: number;
  readonly wants: (kind: AlertKind, place: PlaceName) => boolean;
}

export const DEFAULT_LISTENER: ListenerOptions = {
  highPct: 80,
  silenceMs: 0,
  repeatMs: 600_000,
  wants: () => true,
};

interface Known {
  readonly state: AlertState;
  /** `total` of the look at the last notice. */
  readonly told: number;
}

/** One listener's view of all conditions: what it was told of each, and so what is news. */
export class AlertMachine {
  readonly #known = new Map<string, Known>();
  #options: ListenerOptions;

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  /** The same listener, deployed again: what it was told stays known. */
  configure(options: ListenerOptions): void {
    this.#options = options;
  }

  /** How many conditions are open by what this listener was told. */
  get open(): number {
    return [...this.#known.values()].filter(({ state }) => state.level !== 'ok').length;
  }

  /** Level of a condition as last announced to this listener. */
  levelOf(key: string): Level {
    return this.#known.get(key)?.state.level ?? 'ok';
  }

  /** The notice that this look is worth, if any, and how many it is about. */
  check(
    key: string,
    condition: Condition,
    place: PlaceName,
    look: Look,
    nowMs: number,
  ): { readonly notice: Notice; readonly count: number } | undefined {
    if (!this.#options.wants(condition.kind, place)) return undefined;
    const known = this.#known.get(key) ?? { state: INITIAL_ALERT, told: 0 };
    const level = look.level(this.#options);
    const { state, notice } = checkAlert(known.state, level, nowMs, this.#options.repeatMs);
    // A node that was deployed again counts from 0.
    const told = Math.min(known.told, look.total);
    this.#known.set(key, { state, told: notice ? look.total : told });
    return notice && { notice, count: look.total - told };
  }

  /** The condition exists no more. Gives whether this listener has to be told that it ended. */
  forget(key: string): boolean {
    const wasOpen = this.levelOf(key) !== 'ok';
    this.#known.delete(key);
    return wasOpen;
  }
}
