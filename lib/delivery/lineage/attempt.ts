import type { RuntimeNode } from '../../node-red/types';
import type { Hold } from '../contract';
import type { Stamp } from '../stamp';
import type { Verdict } from '../verdict';
import type { Incident } from './conclusion';
import type { Trace, TrackOptions } from './contract';
import { DeliveryIds } from './delivery-id';
import type { TimerWheel } from './timer-wheel';
import type { Token } from './tokens';

/** The attempts that a message belongs to; more than one where a node merged messages. Never empty. */
export type Owners = readonly [Attempt, ...Attempt[]];

/** What an attempt needs from the lineage that follows it. */
export interface AttemptContext {
  readonly wheel: TimerWheel;
  now(): number;
  timedOut(attempt: Attempt): void;
  settled(attempt: Attempt): void;
  fault(error: unknown): void;
}

/** One attempt to deliver one record: what is still going on in the flow for it, and what has been seen so far. */
export class Attempt implements Trace {
  readonly stamp: Stamp;
  readonly lease: TrackOptions['lease'];
  readonly repeat: TrackOptions['repeat'];
  readonly accepted: boolean;
  readonly replayOf: number | undefined;
  readonly deadLetter: boolean;
  readonly origin: string;
  readonly treatLegacyAsDone: boolean;
  /** Deliveries under way. */
  pending = 0;
  /** Deliveries that ended in a node, see {@link Observed.absorbed}. */
  absorbed = 0;
  /** A sink of ours has it: what that sends on is a receipt, which may go nowhere. */
  reachedSink = false;
  incidents: Incident[] | undefined;
  untracked: Set<string> | undefined;
  /** Set once the source's own send has returned; before, nothing pending means nothing yet. */
  launched = false;
  /** Waits for the check whether it is quiet. */
  checking = false;
  verdict: Verdict | undefined;
  /** Who a message known by nothing but its `_msgid` belongs to: this attempt, and those merged into it. */
  group: Owners = [this];
  /** First of a list of tokens that this attempt is the first owner of. */
  firstToken: Token | undefined;
  /** Further tokens it waits for. */
  sharedTokens: Set<Token> | undefined;

  private deliveryIds: DeliveryIds | undefined;
  private holds: TrackOptions['holds'];
  private takenHolds: Set<string> | undefined;
  private pauses = 0;
  private remainingMs: number;
  private deadline = 0;
  private stopTimeout: (() => void) | undefined;

  constructor(
    /** The `_msgid` of its first message. */
    readonly id: string,
    readonly source: RuntimeNode,
    options: TrackOptions,
    private readonly context: AttemptContext,
    private readonly resolve: (verdict: Verdict) => void,
  ) {
    this.stamp = Object.freeze({ ...options.stamp });
    this.lease = options.lease;
    this.repeat = options.repeat;
    this.accepted = options.accepted ?? false;
    this.replayOf = options.replayOf;
    this.deadLetter = options.deadLetter ?? false;
    this.treatLegacyAsDone = options.treatLegacyAsDone ?? false;
    this.origin = options.origin;
    this.holds = options.holds;
    this.remainingMs = options.timeoutMs;
    this.runTimeout();
  }

  get open(): boolean {
    return this.verdict === undefined;
  }

  fail(incident: Incident): void {
    (this.incidents ??= []).push(incident);
  }

  /** Ids of the nodes that are still busy with it. */
  openNodes(): string[] {
    const ids = new Set<string>();
    for (const token of this.tokens()) ids.add(token.place.node.id);
    return [...ids];
  }

  *tokens(): Generator<Token> {
    for (let token = this.firstToken; token; token = token.nextOfOwner) yield token;
    if (this.sharedTokens) yield* this.sharedTokens;
  }

  /** Gives the verdict, once: what comes later changes nothing. */
  conclude(verdict: Verdict): void {
    if (this.verdict) return;
    this.verdict = verdict;
    this.stopTimeout?.();
    this.stopTimeout = undefined;
    this.firstToken = undefined;
    this.sharedTokens = undefined;
    const { holds } = this;
    this.holds = undefined;
    for (const [sinkId, hold] of holds ?? []) {
      if (!this.takenHolds?.has(sinkId)) this.release(hold);
    }
    this.context.settled(this);
    this.resolve(verdict);
  }

  takeHold(sinkId: string): void {
    this.reachedSink = true;
    const hold = this.holds?.get(sinkId);
    if (!hold || this.takenHolds?.has(sinkId)) return;
    (this.takenHolds ??= new Set()).add(sinkId);
    this.release(hold);
  }

  deliveryId(sinkId: string, bytes: Uint8Array, mergedWith: readonly Attempt[] = []): string {
    const merged = mergedWith.map(({ origin }) => origin).sort();
    return (this.deliveryIds ??= new DeliveryIds(this.origin)).next(sinkId, bytes, merged);
  }

  /** A message that didn't come by a catch node has no error to answer for, see {@link MessageTrace}. */
  readonly caught = undefined;
  readonly caughtError = undefined;
  readonly caughtKept = false;
  custody(): void {}

  pauseTimeout(): () => void {
    if (this.pauses++ === 0 && this.stopTimeout) {
      this.stopTimeout();
      this.stopTimeout = undefined;
      this.remainingMs = Math.max(1, this.deadline - this.context.now());
    }
    let resumed = false;
    return () => {
      if (resumed) return;
      resumed = true;
      if (--this.pauses === 0) this.runTimeout();
    };
  }

  private runTimeout(): void {
    if (this.remainingMs <= 0 || !this.open) return;
    this.deadline = this.context.now() + this.remainingMs;
    this.stopTimeout = this.context.wheel.start(this.remainingMs, () => {
      this.stopTimeout = undefined;
      this.context.timedOut(this);
    });
  }

  private release(hold: Hold): void {
    try {
      hold.release();
    } catch (error) {
      this.context.fault(error);
    }
  }
}
