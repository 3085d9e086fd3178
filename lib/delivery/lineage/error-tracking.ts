/**
 * Errors that nodes report, by `done(error)`, by `node.error(error, msg)` or by throwing: which attempts they fail,
 * which deliveries they end, and which catch branch they lead to.
 */
import type { ErrorWatcher } from '../../node-red/error-patch';
import type { Message, RuntimeNode } from '../../node-red/types';
import type { Owners } from './attempt';
import type { Incident } from './conclusion';
import { isLive, type Resolution } from './resolution';
import type { Tokens } from './tokens';

export interface ErrorTrackingParts {
  readonly tokens: Tokens;
  readonly resolution: Resolution;
  readonly late: (owners: Owners, node: RuntimeNode, what: 'error') => void;
}

export class ErrorTracking implements ErrorWatcher {
  /** The error that catch nodes are receiving right now. */
  raising: Incident | undefined;
  /** A `done(error)` that `node.error` is about to report again. */
  private completing: { readonly msg: Message; readonly incident: Incident | undefined } | undefined;

  /** Errors with which a message is completed while the dead letters have its record. */
  private readonly kept = new WeakMap<Message, unknown>();

  constructor(private readonly parts: ErrorTrackingParts) {}

  markKept(msg: Message, error: unknown): void {
    this.kept.set(msg, error);
  }

  /** A node calls `done(error)`; Node-RED goes on to call its `error()`. */
  completed(node: RuntimeNode, error: unknown, msg: Message): void {
    const kept = this.kept.has(msg) && this.kept.get(msg) === error;
    this.completing = { msg, incident: this.blame(this.parts.resolution.ownersOf(msg), error, node, kept) };
  }

  raised(node: RuntimeNode, error: unknown, msg: unknown): (() => void) | undefined {
    const { resolution } = this.parts;
    if (resolution.known === 0) return undefined;
    const { completing } = this;
    this.completing = undefined;
    if (completing && completing.msg === msg) return this.raise(completing.incident);
    const owners = resolution.blamed(msg);
    if (!owners) return undefined;
    if (typeof msg !== 'object' || msg === null) {
      // There is only the async context to go by: good enough to fail a record, too vague to call an error late.
      if (isLive(owners)) this.blame(owners, error, node);
      return undefined;
    }
    const lower = this.raise(this.blame(owners, error, node));
    return () => {
      lower();
      this.endDelivery(msg, owners, node);
    };
  }

  private raise(incident: Incident | undefined): () => void {
    const before = this.raising;
    this.raising = incident;
    return () => (this.raising = before);
  }

  private blame(
    owners: Owners | undefined,
    error: unknown,
    node: RuntimeNode,
    kept = false,
  ): Incident | undefined {
    if (!owners) return undefined;
    if (!isLive(owners)) {
      this.parts.late(owners, node, 'error');
      return undefined;
    }
    const incident: Incident = { error, inCustody: false, kept, nodeId: node.id };
    for (const owner of owners) if (owner.open) owner.fail(incident);
    return incident;
  }

  /** A handler that throws, or reports an error with its message, has finished with it: `done` may never come. */
  private endDelivery(msg: object, owners: Owners, node: RuntimeNode): void {
    const { resolution, tokens } = this.parts;
    const entry = resolution.entryOf(msg as Message);
    const own = entry && tokens.find(entry, node);
    if (own && own.received > 0) tokens.end(own);
    if (entry) return;
    // The node reported a copy that nobody else has seen, like a link call that gives up.
    for (const owner of owners) {
      for (const token of owner.tokens()) {
        if (token.place.node !== node || token.received === 0) continue;
        tokens.end(token);
        return;
      }
    }
  }
}
