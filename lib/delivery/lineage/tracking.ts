/**
 * The messaging hooks' half of the lineage: what Node-RED reports of messages becomes tokens opened and ended. For one
 * message from node A to node B, it reports: preRoute, preDeliver (A sends), later onReceive, postReceive (around B's
 * handler), and at some time onComplete (B called done). The message object is the same in the last four.
 */
import { actsOutside, legacyKindOf, routeTarget, signalsCompletion, takesInput } from '../../node-red/hooks';
import type { MessageHooks } from '../../node-red/hooks';
import type {
  HookCompleteEvent,
  HookReceiveEvent,
  HookSendEvent,
  Message,
  RuntimeNode,
} from '../../node-red/types';
import type { Aggregation } from './aggregation';
import type { Attempt, Owners } from './attempt';
import type { DeployWindow } from './deploy-window';
import type { ErrorTracking } from './error-tracking';
import type { LateSenders } from './late-senders';
import type { PacedRelease } from './paced-release';
import { isLive, type Resolution } from './resolution';
import type { Entry, Token, Tokens } from './tokens';

export interface TrackingParts {
  readonly tokens: Tokens;
  readonly resolution: Resolution;
  readonly aggregation: Aggregation;
  readonly window: DeployWindow;
  readonly paced: PacedRelease;
  readonly lateSenders: LateSenders;
  readonly errors: ErrorTracking;
  readonly getNode: (id: string) => RuntimeNode | null;
  readonly abort: (attempt: Attempt) => void;
  readonly late: (owners: Owners, node: RuntimeNode, what: 'send') => void;
}

/** One run of an input handler, from onReceive to postReceive; they nest where a node receives directly. */
interface Frame {
  readonly event: HookReceiveEvent;
  /** Async context to return to, so that the caller of `receive()` keeps its own. */
  readonly context: Token | undefined;
}

export class Tracking implements MessageHooks {
  private frames: Frame[] = [];
  /** The attempt whose source is sending right now. */
  private launching: Attempt | undefined;
  /** What preRoute found out, for the preDeliver of the same event: there the message may be a clone. */
  private routed: HookSendEvent | undefined;
  private routedEntry: Entry | undefined;

  constructor(private readonly parts: TrackingParts) {}

  /** Sends the first message of an attempt. */
  launch(attempt: Attempt, send: () => void): void {
    const before = this.launching;
    this.launching = attempt;
    try {
      send();
    } catch (error) {
      attempt.fail({ error, inCustody: false });
    } finally {
      this.launching = before;
    }
  }

  /** Forgets handlers that never returned, because a hook of another package stopped their message. */
  newTurn(): void {
    if (this.frames.length > 0) this.frames = [];
  }

  preRoute(event: HookSendEvent): void {
    const { resolution, tokens, window } = this.parts;
    const sender = event.source.node;
    const entry = resolution.sent(event.msg, sender);
    this.routed = event;
    this.routedEntry = entry;
    if (!entry || !isLive(entry.owners)) return;
    if (window.open && !this.isRoutable(event)) {
      for (const owner of entry.owners) this.parts.abort(owner);
      return;
    }
    if (this.isLaunch(entry.owners, sender)) return;
    const token = tokens.find(entry, sender) ?? this.senderInContext(sender);
    if (!token) return;
    entry.incident ??= token.entry.incident;
    if (token.passage === 'passed') return;
    if (this.isRoutable(event)) token.passage = 'passed';
    else if (!actsOutside(sender)) token.passage = 'lost';
  }

  preDeliver(event: HookSendEvent): void {
    const { resolution, tokens, aggregation } = this.parts;
    const sender = event.source.node;
    const destination = event.destination.node;
    let entry = this.routed === event ? this.routedEntry : resolution.sent(event.msg, sender);
    this.routed = this.routedEntry = undefined;
    if (!entry || !destination) return;
    if (!isLive(entry.owners)) return this.parts.late(entry.owners, sender, 'send');
    if (resolution.entryOf(event.msg) !== entry) {
      const { owners, incident } = entry;
      entry = resolution.bind(event.msg, owners);
      entry.incident = incident;
    }
    tokens.open(entry, destination);
    if (!this.isLaunch(entry.owners, sender)) aggregation.sent(tokens.placeOf(sender), entry);
  }

  onReceive(event: HookReceiveEvent): void {
    const { resolution, tokens, window } = this.parts;
    const { msg } = event;
    const { node } = event.destination;
    const context = resolution.context.getStore();
    const entry = resolution.received(msg, node);
    if (!entry || !isLive(entry.owners)) {
      // What an untracked message causes (a status event, say) isn't part of the record that led to it.
      if (!context) return;
      this.frames.push({ event, context });
      resolution.context.enterWith(undefined);
      return;
    }
    let token = tokens.find(entry, node);
    if (!token || token.received >= token.count) {
      token = tokens.open(entry, node);
      if (context) context.passage = 'passed';
      entry.incident ??= node.type === 'catch' ? this.parts.errors.raising : context?.entry.incident;
    }
    tokens.receive(token);
    restamp(msg, entry.owners[0]);
    this.frames.push({ event, context });
    resolution.context.enterWith(token);
    if (takesInput(node)) return;
    if (!window.survived(node)) for (const owner of entry.owners) this.parts.abort(owner);
    token.passage = 'lost';
    tokens.end(token);
  }

  postReceive(event: HookReceiveEvent): void {
    const { resolution, tokens } = this.parts;
    const index = this.frames.findLastIndex((frame) => frame.event === event);
    const frame = this.frames[index];
    if (frame) {
      this.frames.splice(index, 1);
      resolution.context.enterWith(frame.context);
    }
    const { node } = event.destination;
    if (signalsCompletion(node)) return;
    const entry = resolution.entryOf(event.msg);
    const token = entry && tokens.find(entry, node);
    if (token && token.received > 0) this.finishLegacy(token, event.msg);
  }

  onComplete(event: HookCompleteEvent): void {
    const { resolution, tokens, aggregation, window, errors, lateSenders } = this.parts;
    const { msg, error } = event;
    const { node } = event.node;
    if (error) errors.completed(node, error, msg);
    const entry = resolution.entryOf(msg);
    const token = entry && tokens.find(entry, node);
    if (!token || token.received === 0) return;
    if (!error) aggregation.finishing(token);
    if (lateSenders.maySendLater(node, msg)) loseTrack(token);
    window.finished(token);
  }

  private finishLegacy(token: Token, msg: Message): void {
    const { lateSenders, paced, window } = this.parts;
    const { node } = token.place;
    const kind = legacyKindOf(node);
    const isLate = lateSenders.maySendLater(node, msg);
    if (kind === 'queued' && !isLate) {
      paced.add(token);
      return;
    }
    if (kind === 'opaque' || isLate) loseTrack(token);
    window.finished(token);
  }

  /** The delivery in whose handler, or in whose async consequences, `sender` sends a message that it made itself. */
  private senderInContext(sender: RuntimeNode): Token | undefined {
    const token = this.parts.resolution.context.getStore();
    return token?.place.node === sender ? token : undefined;
  }

  private isLaunch(owners: Owners, sender: RuntimeNode): boolean {
    const { launching } = this;
    return launching !== undefined && owners[0] === launching && sender === launching.source;
  }

  private isRoutable(event: HookSendEvent): boolean {
    return Boolean(routeTarget(event.source.node, event.destination.id, this.parts.getNode));
  }
}

/** From here on nobody can tell what still comes of the message. */
function loseTrack({ owners, place }: Token): void {
  for (const owner of owners) {
    if (!owner.treatLegacyAsDone) (owner.untracked ??= new Set()).add(place.node.id);
  }
}

/**
 * `msg.sluice` is the lineage's, whatever the flow made of it, but for the `delivered` that a sink added. A frozen
 * message keeps what it has.
 */
function restamp(msg: Message, { stamp }: Attempt): void {
  const shown = msg['sluice'] as { readonly delivered?: unknown } | null | undefined;
  if (shown === stamp) return;
  const delivered = shown?.delivered;
  Reflect.set(msg, 'sluice', delivered === undefined ? stamp : { ...stamp, delivered });
}
