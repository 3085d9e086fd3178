/**
 * The messaging hooks' half of the lineage: what Node-RED reports of messages becomes tokens opened and ended. For one
 * message from node A to node B, it reports: preRoute, preDeliver (A sends), later onReceive, postReceive (around B's
 * handler), and at some time onComplete (B called done). The message object is the same in the last four.
 */
import { legacyKindOf, routeTarget, signalsCompletion, takesInput } from '../../node-red/hooks';
import type { MessageHooks } from '../../node-red/hooks';
import type { ErrorWatcher } from '../../node-red/error-patch';
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
import type { PacedRelease } from './paced-release';
import { isLive, type Resolution } from './resolution';
import type { Entry, Token, Tokens } from './tokens';

export interface TrackingParts {
  readonly tokens: Tokens;
  readonly resolution: Resolution;
  readonly aggregation: Aggregation;
  readonly window: DeployWindow;
  readonly paced: PacedRelease;
  getNode(id: string): RuntimeNode | null;
  abort(attempt: Attempt): void;
  late(attempt: Attempt, node: RuntimeNode, what: 'send' | 'error'): void;
}

/** One run of an input handler, from onReceive to postReceive; they nest where a node receives directly. */
interface Frame {
  readonly event: HookReceiveEvent;
  readonly token: Token | undefined;
  /** Async context to return to, so that the caller of `receive()` keeps its own. */
  readonly context: Token | undefined;
}

export class Tracking implements MessageHooks, ErrorWatcher {
  private frames: Frame[] = [];
  /** The attempt whose source is sending right now. */
  private launching: Attempt | undefined;
  /** What preRoute found out, for the preDeliver of the same event: there the message may be a clone. */
  private routed: HookSendEvent | undefined;
  private routedEntry: Entry | undefined;
  /** The message of a `done(error)` that `node.error` is about to report again. */
  private completingWithError: Message | undefined;

  constructor(private readonly parts: TrackingParts) {}

  /** Sends the first message of an attempt. */
  launch(attempt: Attempt, send: () => void): void {
    const before = this.launching;
    this.launching = attempt;
    try {
      send();
    } catch (error) {
      attempt.fail(error);
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
    if (!token || token.passage === 'passed') return;
    token.passage = this.isRoutable(event) ? 'passed' : 'lost';
  }

  preDeliver(event: HookSendEvent): void {
    const { resolution, tokens, aggregation } = this.parts;
    const sender = event.source.node;
    const destination = event.destination.node;
    let entry = this.routed === event ? this.routedEntry : resolution.sent(event.msg, sender);
    this.routed = this.routedEntry = undefined;
    if (!entry || !destination) return;
    if (!isLive(entry.owners)) return this.reportLate(entry.owners, destination, 'send');
    if (resolution.entryOf(event.msg) !== entry) entry = resolution.bind(event.msg, entry.owners);
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
      this.frames.push({ event, token: undefined, context });
      resolution.context.enterWith(undefined);
      return;
    }
    let token = tokens.find(entry, node);
    if (!token || token.received >= token.count) {
      token = tokens.open(entry, node);
      const caller = this.frames.at(-1)?.token;
      if (caller) caller.passage = 'passed';
    }
    tokens.receive(token);
    restamp(msg, entry.owners[0]);
    this.frames.push({ event, token, context });
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
    if (token && token.received > 0) this.finishLegacy(token);
  }

  onComplete(event: HookCompleteEvent): void {
    const { resolution, tokens, aggregation, window } = this.parts;
    const { msg, error } = event;
    const { node } = event.node;
    if (error) {
      this.completingWithError = msg;
      this.blame(resolution.ownersOf(msg), error, node);
    }
    const entry = resolution.entryOf(msg);
    const token = entry && tokens.find(entry, node);
    if (!token || token.received === 0) return;
    if (!error) aggregation.finishing(token);
    window.finished(token);
  }

  raised(node: RuntimeNode, error: unknown, msg: unknown): (() => void) | undefined {
    if (this.parts.resolution.known === 0) return undefined;
    if (this.completingWithError && this.completingWithError === msg) {
      this.completingWithError = undefined;
      return undefined;
    }
    const owners = this.parts.resolution.blamed(msg);
    if (!owners) return undefined;
    const named = typeof msg === 'object' && msg !== null ? (msg as Message) : undefined;
    // Without a message there is only the async context to go by: good enough to fail, too vague to call it late.
    if (named || isLive(owners)) this.blame(owners, error, node);
    return named && (() => this.endAfterError(named, owners, node));
  }

  /** A handler that throws, or reports an error with its message, has finished with it: done() may never come. */
  private endAfterError(msg: Message, owners: Owners, node: RuntimeNode): void {
    const { resolution, tokens } = this.parts;
    const entry = resolution.entryOf(msg);
    const own = entry && tokens.find(entry, node);
    if (own && own.received > 0) tokens.end(own);
    if (entry) return;
    for (const owner of owners) {
      for (const token of owner.tokens()) {
        if (token.place.node !== node || token.received === 0) continue;
        tokens.end(token);
        return;
      }
    }
  }

  private finishLegacy(token: Token): void {
    const { paced, window } = this.parts;
    const { node } = token.place;
    const kind = legacyKindOf(node);
    if (kind === 'queued') {
      paced.add(token);
      return;
    }
    if (kind === 'opaque') {
      for (const owner of token.owners) {
        if (!owner.treatLegacyAsDone) (owner.untracked ??= new Set()).add(node.id);
      }
    }
    window.finished(token);
  }

  private blame(owners: Owners | undefined, error: unknown, node: RuntimeNode): void {
    if (!owners) return;
    for (const owner of owners) if (owner.open) owner.fail(error);
    if (!isLive(owners)) this.reportLate(owners, node, 'error');
  }

  /** Only after `done` is a late sign of life a loss: the origin has been told to forget the record. */
  private reportLate(owners: Owners, node: RuntimeNode, what: 'send' | 'error'): void {
    for (const owner of owners) if (owner.verdict?.kind === 'done') this.parts.late(owner, node, what);
  }

  /** The delivery in whose handler, or in whose async consequences, `sender` sends a message that it made itself. */
  private senderInContext(sender: RuntimeNode): Token | undefined {
    const token = this.frames.at(-1)?.token ?? this.parts.resolution.context.getStore();
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
