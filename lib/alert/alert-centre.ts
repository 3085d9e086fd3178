/**
 * The runtime's one alert centre: every bounded queue, every counted loss and every fault is told to it, and it decides
 * what is worth a line in the log, a count in the metrics and a message of an alert node. What each listener was told is
 * kept over a deploy, by the ids of places and listeners, so that nothing is announced twice.
 */
import {
  AlertMachine,
  DEFAULT_LISTENER,
  type Alert,
  type ListenerOptions,
  type PlaceName,
} from './alert-machine';
import { PlaceConditions, type AlertPlace } from './alert-place';
import { alertText, type Translate } from './alert-text';
import type { Condition, Look } from './conditions';
import type { Level } from './levels';
import type { LossReason } from './losses';

export interface AlertCentreDeps {
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Unix milliseconds. */
  readonly wallClock: () => number;
  readonly translate: Translate;
  readonly log: (severity: Alert['severity'], text: string) => void;
  /** Counts for the metrics: a notice, and records that were lost. */
  readonly raised: (level: Level) => void;
  readonly dropped: (place: string, reason: LossReason, records: number) => void;
}

/** A condition that lasts, by what the log was told last. */
export interface OpenAlert {
  readonly kind: Condition['kind'];
  readonly what: string;
  readonly level: Level;
  readonly place: PlaceName;
}

interface Listener {
  readonly machine: AlertMachine;
  /** Undefined while its node is away during a deploy. */
  tell: ((alert: Alert) => void) | undefined;
}

export class AlertCentre {
  readonly #places = new Map<string, PlaceConditions>();
  readonly #own: Listener;
  readonly #listeners = new Map<string, Listener>();

  constructor(private readonly deps: AlertCentreDeps) {
    this.#own = {
      machine: new AlertMachine(DEFAULT_LISTENER),
      tell: ({ level, severity, text }) => {
        deps.raised(level);
        deps.log(severity, text);
      },
    };
  }

  /** Where a node tells of itself; ask for it when the node starts, and close it with the node. */
  place({ id, name: label, type, z }: PlaceName): AlertPlace {
    // A copy: nodes pass themselves, and what is emitted must be plain data.
    const name: PlaceName = { id, name: label, type, ...(z === undefined ? {} : { z }) };
    let conditions = this.#places.get(name.id);
    if (!conditions) {
      const place: PlaceConditions = new PlaceConditions(name, {
        now: this.deps.now,
        dropped: this.deps.dropped,
        examine: (condition) => this.#examine(place, condition),
      });
      conditions = place;
      this.#places.set(name.id, place);
    }
    return conditions.open(name);
  }

  /** Tells `onAlert` what is news to the listener of this id, until the returned function is called. */
  listen(id: string, options: ListenerOptions, onAlert: (alert: Alert) => void): () => void {
    const listener = this.#listeners.get(id) ?? { machine: new AlertMachine(options), tell: undefined };
    listener.machine.configure(options);
    listener.tell = onAlert;
    this.#listeners.set(id, listener);
    return () => {
      if (listener.tell === onAlert) listener.tell = undefined;
    };
  }

  /** How many conditions a listener was told of that last. */
  openFor(id: string): number {
    return this.#listeners.get(id)?.machine.open ?? 0;
  }

  /** All that is wrong now. */
  open(): readonly OpenAlert[] {
    return [...this.#places.values()].flatMap((place) =>
      [...place.conditions.values()]
        .map((condition) => ({ condition, level: this.#own.machine.levelOf(keyOf(place, condition)) }))
        .filter(({ level }) => level !== 'ok')
        .map(({ condition: { kind, what }, level }) => ({ kind, what, level, place: place.name })),
    );
  }

  /** The periodic look at everything. */
  check(): void {
    for (const place of this.#places.values()) {
      if (!place.owner) continue;
      for (const [key, condition] of place.conditions) {
        this.#examine(place, condition);
        if (condition.isOver(this.deps.now())) this.#forget(place, key, condition);
      }
    }
  }

  /** How a part of the runtime tells of a node that isn't itself; undefined for one that isn't live. */
  about(id: string): AlertPlace | undefined {
    return this.#places.get(id)?.owner;
  }

  /** Flows run again: whatever is still closed is no longer part of them. */
  deployed(): void {
    for (const [id, listener] of this.#listeners) {
      if (!listener.tell) this.#listeners.delete(id);
    }
    for (const [id, place] of this.#places) {
      if (place.owner) continue;
      this.#places.delete(id);
      for (const condition of place.conditions.values()) this.#removed(place, condition);
    }
  }

  #audience(): readonly Listener[] {
    return [this.#own, ...this.#listeners.values()].filter(({ tell }) => tell !== undefined);
  }

  #examine(place: PlaceConditions, condition: Condition): void {
    const nowMs = this.deps.now();
    const look = condition.look(nowMs);
    if (!look) return;
    const key = keyOf(place, condition);
    for (const { machine, tell } of this.#audience()) {
      const news = machine.check(key, condition, place.name, look, nowMs);
      if (news) tell?.(this.#alert(place.name, condition, look, news));
    }
  }

  #forget(place: PlaceConditions, key: string, condition: Condition): void {
    place.conditions.delete(key);
    for (const { machine } of [this.#own, ...this.#listeners.values()])
      machine.forget(keyOf(place, condition));
  }

  /** Who was told that something is wrong has to hear that it no longer is. */
  #removed(place: PlaceConditions, condition: Condition): void {
    const look: Look = { level: () => 'ok', values: { removed: 1 }, total: 0 };
    const notice = { level: 'ok', severity: 'info', repeat: false } as const;
    for (const { machine, tell } of this.#audience()) {
      if (!machine.forget(keyOf(place, condition))) continue;
      tell?.(this.#alert(place.name, condition, look, { notice, count: 0 }));
    }
  }

  #alert(
    place: PlaceName,
    { kind, what }: Condition,
    { values }: Look,
    {
      notice,
      count,
    }: { readonly notice: Pick<Alert, 'level' | 'severity' | 'repeat'>; readonly count: number },
  ): Alert {
    const untold = { ...notice, kind, what, place, count, values, at: this.deps.wallClock() };
    return { ...untold, text: alertText(this.deps.translate, untold) };
  }
}

const keyOf = (place: PlaceConditions, { kind, what }: Condition) =>
  // The policy of a queue may change with a deploy; it stays the same queue.
  `${place.name.id} ${kind} ${kind === 'queue' ? '' : what}`;
