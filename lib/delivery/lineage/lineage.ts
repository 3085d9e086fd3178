import { watchErrors } from '../../node-red/error-patch';
import { installHooks } from '../../node-red/hooks';
import type { Message, RuntimeNode } from '../../node-red/types';
import type { Verdict } from '../verdict';
import { Aggregation } from './aggregation';
import { Attempt, type AttemptContext, type Owners } from './attempt';
import { aborted, concludeQuiet, concludeTimeout, isUnrouted } from './conclusion';
import type { Trace, TrackOptions } from './contract';
import { ErrorTracking } from './error-tracking';
import { DeployWindow } from './deploy-window';
import { LateSenders } from './late-senders';
import { MessageTrace } from './message-trace';
import { PacedRelease } from './paced-release';
import { QuietCheck } from './quiet-check';
import { Resolution } from './resolution';
import { TimerWheel } from './timer-wheel';
import type { LateEvent, LineageCensus, LineageDeps, RuntimeLineage } from './runtime-lineage';
import { SYSTEM_TIMERS, type Timers } from './timers';
import { Tokens } from './tokens';
import { Tracking } from './tracking';

const LINGER_MS = 10_000;

/** The lineage of a Node-RED runtime; there must be one only, and it works from its `install()` on. */
export function createLineage(deps: LineageDeps): RuntimeLineage {
  return new HookedLineage(deps);
}

class HookedLineage implements RuntimeLineage {
  lateSends = 0;
  unrouted = 0;
  private readonly timers: Timers;
  private readonly label: string;
  private readonly idPrefix: string;
  private idCounter = 0;
  private readonly wheel: TimerWheel;
  private readonly resolution = new Resolution();
  private readonly quiet: QuietCheck;
  private readonly tokens: Tokens;
  private readonly window: DeployWindow;
  private readonly paced: PacedRelease;
  private readonly aggregation: Aggregation;
  private readonly lateSenders: LateSenders;
  private readonly errors: ErrorTracking;
  private readonly tracking: Tracking;
  private readonly attemptContext: AttemptContext;
  private readonly lateListeners = new Set<(event: LateEvent) => void>();
  private removeHooks: (() => void) | undefined;
  private unwatchErrors: (() => void) | undefined;
  private stopLinger: (() => void) | undefined;

  constructor(private readonly deps: LineageDeps) {
    this.timers = deps.timers ?? SYSTEM_TIMERS;
    this.label = `sluice-${deps.generateId()}`;
    this.idPrefix = deps.generateId().slice(0, 8);
    this.wheel = new TimerWheel(this.timers);
    this.quiet = new QuietCheck(
      this.timers,
      () => this.tracking.newTurn(),
      (attempt) => attempt.conclude(concludeQuiet(attempt)),
    );
    this.tokens = new Tokens((attempt) => this.quiet.request(attempt));
    this.aggregation = new Aggregation(this.tokens);
    const abort = (attempt: Attempt): void => attempt.conclude(aborted('ERR_SLUICE_DELIVERY_ABORTED'));
    this.lateSenders = new LateSenders(deps.asyncStores);
    this.window = new DeployWindow(deps.events, {
      getNode: deps.getNode,
      attempts: () => this.resolution.attempts(),
      end: (token) => void this.tokens.end(token),
      abort,
      known: (flows) => this.lateSenders.learn([...flows, ...(deps.packagedConfigs?.(flows) ?? [])]),
    });
    this.paced = new PacedRelease(this.timers, (token) => this.window.finished(token));
    const late = (owners: Owners, node: RuntimeNode, what: LateEvent['what']): void => {
      for (const owner of owners) if (owner.verdict?.kind === 'done') this.reportLate(owner, node, what);
    };
    this.errors = new ErrorTracking({ tokens: this.tokens, resolution: this.resolution, late });
    this.tracking = new Tracking({
      tokens: this.tokens,
      resolution: this.resolution,
      aggregation: this.aggregation,
      window: this.window,
      paced: this.paced,
      lateSenders: this.lateSenders,
      getNode: deps.getNode,
      abort,
      errors: this.errors,
      late,
    });
    this.attemptContext = {
      wheel: this.wheel,
      now: () => this.timers.now(),
      timedOut: (attempt) => {
        this.tracking.newTurn();
        attempt.conclude(concludeTimeout(attempt.incidents, attempt.openNodes()));
      },
      settled: (attempt) => this.settled(attempt),
      fault: (error) => deps.onFault(error),
    };
  }

  get active(): number {
    return this.resolution.size;
  }

  install(): void {
    this.window.watch();
  }

  uninstall(): void {
    for (const attempt of [...this.resolution.attempts()]) {
      attempt.conclude(aborted('ERR_SLUICE_DELIVERY_ABORTED'));
    }
    this.window.unwatch();
    this.rest();
    this.unwatchErrors?.();
    this.unwatchErrors = undefined;
  }

  send(node: RuntimeNode, msg: Message, options: TrackOptions): Promise<Verdict> {
    const { promise, resolve } = withResolvers<Verdict>();
    const attempt = new Attempt(this.nextId(), node, options, this.attemptContext, resolve);
    // A copy: the caller's object may be frozen, or be sent again for the next attempt while this one is still known.
    const message: Message = { ...msg, _msgid: attempt.id, sluice: attempt.stamp };
    this.resolution.add(attempt, message);
    const { into, port = 0 } = options;
    if (into) {
      // Not a launch: what that node sends is a step of the record's way like any other.
      this.wake(node);
      into.receive(message);
    } else {
      this.tracking.launch(attempt, () => {
        this.wake(node);
        node.send(onPort(message, port));
      });
    }
    attempt.launched = true;
    if (attempt.pending === 0) this.quiet.request(attempt);
    return promise;
  }

  traceOf(msg: Message): Trace | undefined {
    const owners = this.resolution.ownersOf(msg);
    if (!owners) return undefined;
    const incident = this.resolution.entryOf(msg)?.incident;
    return owners.length === 1 && !incident ? owners[0] : new MessageTrace(owners, incident);
  }

  markKept(msg: Message, error: Error): void {
    this.errors.markKept(msg, error);
  }

  onLate(listener: (event: LateEvent) => void): () => void {
    this.lateListeners.add(listener);
    return () => this.lateListeners.delete(listener);
  }

  census(): LineageCensus {
    return {
      attempts: this.resolution.size,
      known: this.resolution.known,
      timeouts: this.wheel.size,
      quietChecks: this.quiet.size,
      pacedNodes: this.paced.size,
      parked: this.window.size,
      aggregated: this.aggregation.size,
      hooked: this.removeHooks !== undefined,
    };
  }

  private wake(node: RuntimeNode): void {
    this.stopLinger?.();
    this.stopLinger = undefined;
    this.unwatchErrors ??= watchErrors(node, this.errors, this.deps.onFault);
    this.removeHooks ??= installHooks(this.deps.hooks, this.label, this.tracking, this.deps.onFault);
  }

  private rest(): void {
    this.stopLinger?.();
    this.stopLinger = undefined;
    this.removeHooks?.();
    this.removeHooks = undefined;
    this.resolution.rest();
    this.tracking.newTurn();
  }

  private settled(attempt: Attempt): void {
    if (attempt.verdict && isUnrouted(attempt.verdict)) this.unrouted++;
    this.resolution.finish(attempt);
    if (this.resolution.size > 0) return;
    this.stopLinger = this.wheel.start(this.deps.lingerMs ?? LINGER_MS, () => this.rest());
  }

  /** Only after `done` is a late sign of life a loss: the origin has been told to forget the record. */
  private reportLate(attempt: Attempt, node: RuntimeNode, what: 'send' | 'error'): void {
    this.lateSends++;
    const event = { what, nodeId: node.id, sourceId: attempt.source.id, recordId: attempt.stamp.id };
    for (const listener of this.lateListeners) listener(event);
  }

  /** As long as Node-RED's own ids, unique within the process. */
  private nextId(): string {
    this.idCounter = (this.idCounter + 1) >>> 0;
    return this.idPrefix + this.idCounter.toString(16).padStart(8, '0');
  }
}

function withResolvers<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((fulfil) => (resolve = fulfil));
  return { promise, resolve };
}

/** What `node.send` takes to send on one output. */
function onPort(message: Message, port: number): Message | (Message | null)[] {
  if (port === 0) return message;
  const outputs = Array.from<Message | null>({ length: port }).fill(null);
  return [...outputs, message];
}
