import type { EventEmitter } from 'node:events';
import { watchErrors } from '../../node-red/error-patch';
import { installHooks } from '../../node-red/hooks';
import type { Hooks, Message, RuntimeNode } from '../../node-red/types';
import type { Verdict } from '../verdict';
import { Aggregation } from './aggregation';
import { Attempt, type AttemptContext } from './attempt';
import { aborted, concludeQuiet, concludeTimeout } from './conclusion';
import type { Lineage, Trace, TrackOptions } from './contract';
import { DeployWindow } from './deploy-window';
import { MergedTrace } from './merged-trace';
import { PacedRelease } from './paced-release';
import { QuietCheck } from './quiet-check';
import { Resolution } from './resolution';
import { TimerWheel } from './timer-wheel';
import { SYSTEM_TIMERS, type Timers } from './timers';
import { Tokens } from './tokens';
import { Tracking } from './tracking';

/** A sign of life of a record whose verdict was `done`: what it carries is no longer waited for by anyone. */
export interface LateEvent {
  readonly what: 'send' | 'error';
  /** The node that was sent to, or that reported the error. */
  readonly nodeId: string;
  readonly sourceId: string;
  readonly recordId: string;
}

export interface LineageDeps {
  readonly hooks: Hooks;
  /** `RED.events` */
  readonly events: EventEmitter;
  getNode(id: string): RuntimeNode | null;
  generateId(): string;
  /** A mistake inside the lineage: it is contained, and the attempts it concerns end by timeout. */
  onFault(fault: unknown): void;
  readonly timers?: Timers;
  /** How long the hooks stay after the last verdict; they are too slow to add and remove for each record. */
  readonly lingerMs?: number;
}

/** What the lineage holds at the moment; all zero when it rests. */
export interface LineageCensus {
  readonly attempts: number;
  readonly known: number;
  readonly timeouts: number;
  readonly quietChecks: number;
  readonly pacedNodes: number;
  readonly parked: number;
  readonly aggregated: number;
  readonly hooked: boolean;
}

export interface RuntimeLineage extends Lineage {
  /** Signs of life after `done`, since the start. */
  readonly lateSends: number;
  /** Listens for them; returns the removal. */
  onLate(listener: (event: LateEvent) => void): () => void;
  /** Starts to follow deploys; call once. */
  install(): void;
  /** Aborts what is open and takes every hook, patch and listener away. */
  uninstall(): void;
  census(): LineageCensus;
}

const LINGER_MS = 10_000;

export function createLineage(deps: LineageDeps): RuntimeLineage {
  return new HookedLineage(deps);
}

class HookedLineage implements RuntimeLineage {
  lateSends = 0;
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
  private readonly tracking: Tracking;
  private readonly attemptContext: AttemptContext;
  private readonly resolvers = new WeakMap<Attempt, (verdict: Verdict) => void>();
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
    this.window = new DeployWindow(deps.events, {
      getNode: deps.getNode,
      attempts: () => this.resolution.attempts(),
      end: (token) => void this.tokens.end(token),
      abort,
    });
    this.paced = new PacedRelease(this.timers, (token) => this.window.finished(token));
    this.tracking = new Tracking({
      tokens: this.tokens,
      resolution: this.resolution,
      aggregation: this.aggregation,
      window: this.window,
      paced: this.paced,
      getNode: deps.getNode,
      abort,
      late: (attempt, node, what) => this.reportLate(attempt, node, what),
    });
    this.attemptContext = {
      wheel: this.wheel,
      now: () => this.timers.now(),
      timedOut: (attempt) => {
        this.tracking.newTurn();
        attempt.conclude(concludeTimeout(attempt.failure, attempt.openNodes()));
      },
      settled: (attempt, verdict) => this.settled(attempt, verdict),
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
    this.wake(node);
    const attempt = new Attempt(this.nextId(), node, options, this.attemptContext);
    const verdict = new Promise<Verdict>((resolve) => this.resolvers.set(attempt, resolve));
    // A copy: the caller's object may be frozen, or be sent again for the next attempt while this one is still known.
    const message: Message = { ...msg, _msgid: attempt.id, sluice: attempt.stamp };
    this.resolution.add(attempt, message);
    this.tracking.launch(attempt, () => node.send(onPort(message, options.port ?? 0)));
    attempt.launched = true;
    if (attempt.pending === 0) this.quiet.request(attempt);
    return verdict;
  }

  traceOf(msg: Message): Trace | undefined {
    const owners = this.resolution.ownersOf(msg);
    if (!owners) return undefined;
    return owners.length === 1 ? owners[0] : new MergedTrace(owners);
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
    this.unwatchErrors ??= watchErrors(node, this.tracking);
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

  private settled(attempt: Attempt, verdict: Verdict): void {
    this.resolution.finish(attempt);
    this.resolvers.get(attempt)?.(verdict);
    this.resolvers.delete(attempt);
    if (this.resolution.size > 0) return;
    this.stopLinger = this.wheel.start(this.deps.lingerMs ?? LINGER_MS, () => this.rest());
  }

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

/** What `node.send` takes to send on one output. */
function onPort(message: Message, port: number): Message | (Message | null)[] {
  if (port === 0) return message;
  const outputs = Array.from<Message | null>({ length: port }).fill(null);
  return [...outputs, message];
}
