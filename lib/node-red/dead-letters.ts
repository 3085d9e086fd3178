/** The dead-letter room's view of Node-RED: which node failed on which tab, and who must keep the record for it. */
import type { Lineage, Trace, TrackOptions } from '../delivery/lineage/contract';
import type { RuntimeLineage } from '../delivery/lineage/runtime-lineage';
import type { Stamp } from '../delivery/stamp';
import type { Verdict } from '../delivery/verdict';
import { PIPELINE, type ReplayTarget } from '../dead-letter/contract';
import { caughtClassOf, type FailedNode, type Failure } from '../dead-letter/failure';
import { Redrive, type RedriveProgress } from '../dead-letter/redrive';
import { Replays } from '../dead-letter/replay';
import type { Disposal, DeadLetterRoom } from '../dead-letter/room';
import { failureClassOf, InputError, type FailureClass } from '../errors/errors';
import { roleOf } from '../flow-graph/node-types';
import { encodeBody } from '../queue/record-format';
import type { FailureKeeper } from './input';
import type { FlowConfigNode, Message, RuntimeNode } from './types';

interface DeadLettersDeps {
  readonly room: DeadLetterRoom;
  readonly lineage: Pick<RuntimeLineage, 'send' | 'traceOf' | 'markKept'>;
  readonly getNode: (id: string) => RuntimeNode | null;
  readonly isSink: (id: string) => boolean;
  readonly tellRedrive: (progress: RedriveProgress) => void;
  /** Makes the metrics of a rule exist at 0. */
  readonly declareRule: (label: string) => void;
}

/** A record that its source gives up. */
export interface GivenUp {
  /** The source. */
  readonly node: RuntimeNode;
  readonly msg: Message;
  readonly stamp: Stamp;
  readonly origin: string;
  readonly place: string;
  /** Of the record at its source: kept twice, it is one letter. */
  readonly key: string;
  readonly failure: { readonly code: string; readonly reason: string };
  /** How its last delivery ended, if one did. */
  readonly verdict: Verdict | undefined;
}

type Caught = Message & {
  readonly error?: {
    readonly message?: unknown;
    readonly code?: unknown;
    readonly source?: { readonly id?: unknown; readonly type?: unknown; readonly name?: unknown };
  };
};

/** Catch nodes bring a failure at once, so few are on their way. */
const MAX_REMEMBERED = 4096;
/** Of subflows in one another. */
const MAX_NESTING = 100;

export class DeadLetters implements FailureKeeper {
  readonly room: DeadLetterRoom;
  readonly replays: Replays;
  readonly redrive: Redrive;
  /** Failures of untracked messages that their nodes have reported: catch nodes may bring them once more. */
  readonly #reported = new Set<string>();
  readonly #ruleOf = new WeakMap<RuntimeNode, string>();

  constructor(private readonly deps: DeadLettersDeps) {
    this.room = deps.room;
    const { letters } = deps.room;
    this.replays = new Replays({ letters, lineage: deps.lineage, getNode: deps.getNode, now: Date.now });
    this.redrive = new Redrive({
      letters,
      replays: this.replays,
      now: Date.now,
      sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms).unref()),
      tell: deps.tellRedrive,
    });
  }

  /** The deployed tabs run: the rules are theirs. */
  flowsStarted(flows: readonly FlowConfigNode[]): void {
    const tabs = flows.filter(({ type, disabled }) => type === 'tab' && disabled !== true);
    const ours = new Set(flows.flatMap(({ type, z }) => (roleOf(type) ? [z] : [])));
    const { rules } = this.room;
    rules.deployed(new Map(tabs.map(({ id, label }) => [id, String(label || id)])));
    this.room.letters.wake();
    this.room.letters.setQuota(PIPELINE, rules.quota());
    for (const { id, label } of rules.all()) if (ours.has(id)) this.deps.declareRule(label);
    this.room.announceHalts();
  }

  /** The tab that a node is on, also from inside subflow instances: the rule that its failures belong to. */
  ruleOf(node: RuntimeNode): string {
    const known = this.#ruleOf.get(node);
    if (known !== undefined) return known;
    let { z } = node;
    // A subflow instance is a node; a flow file may give a tab the id of one of its own nodes, so not for ever.
    for (let depth = 0, owner = this.deps.getNode(z); owner && depth < MAX_NESTING; depth += 1) {
      z = owner.z;
      owner = this.deps.getNode(z);
    }
    this.#ruleOf.set(node, z);
    return z;
  }

  async failed(node: RuntimeNode, msg: Message, error: Error): Promise<Error> {
    const trace = this.deps.lineage.traceOf(msg);
    const failure = this.#failure({ node, msg, error, trace, rule: this.ruleOf(node), class: 'permanent' });
    if (!trace) this.#remember(msg, node.id);
    const disposal = await this.room.report(failure, { trace });
    // What failed on a rule that only counts is kept by its source, if it has told its origin that it is safe.
    if (disposal !== 'dropped') this.deps.lineage.markKept(msg, error);
    return error;
  }

  /**
   * A message at a dlq node, by a catch node or sent there by the flow. Of a tracked record it takes what can never
   * work; anything else is its source's to try again. Rejects when it can't be kept.
   */
  async caught(dlq: RuntimeNode, msg: Caught): Promise<Disposal | 'left'> {
    const trace = this.deps.lineage.traceOf(msg);
    const error = caughtError(msg, trace?.caughtError);
    const { source } = msg.error ?? {};
    const node = typeof source?.id === 'string' ? this.deps.getNode(source.id) : null;
    const cause = msg.error ? caughtClassOf(error) : 'permanent';
    if (trace && cause !== 'permanent' && trace.replayOf === undefined && !trace.deadLetter) return 'left';
    const rule = this.ruleOf(node ?? dlq);
    if (trace?.caughtKept) {
      trace.custody();
      return 'ended';
    }
    // Nothing follows it, so all that tells is that this node has just reported this message.
    if (!trace && node && this.#reported.delete(keyOf(msg, node.id))) return 'ended';
    const failure = this.#failure({ node: node ?? undefined, msg, error, trace, rule, class: cause });
    // A replay's verdict must stay a failure: its letter is still open then.
    const disposal = await this.room.report(failure, { trace, always: trace?.accepted ?? false });
    if (disposal !== 'ended') trace?.custody();
    return disposal;
  }

  #remember(msg: Message, nodeId: string): void {
    this.#reported.add(keyOf(msg, nodeId));
    const [oldest] = this.#reported;
    if (this.#reported.size > MAX_REMEMBERED && oldest !== undefined) this.#reported.delete(oldest);
  }

  /** Keeps what a source gives up for good. Rejects when that can't be done. */
  async giveUp({ node, msg, stamp, origin, place, key, failure: why, verdict }: GivenUp): Promise<Disposal> {
    // The very error, where there is one: its stage, and whether it was counted, hang on it.
    const error =
      verdict?.kind === 'failed' && verdict.error.message === why.reason
        ? verdict.error
        : Object.assign(new Error(why.reason), { code: why.code });
    const failedNode =
      verdict?.kind === 'failed' && verdict.nodeId ? this.deps.getNode(verdict.nodeId) : null;
    const described = failedNode ? this.#describe(failedNode) : undefined;
    const failure: Failure = {
      error,
      class: verdict?.kind === 'failed' ? verdict.failure : failureClassOf(error),
      rule: this.ruleOf(failedNode ?? node),
      msg,
      node: described,
      stamp,
      target: targetOf(stamp, origin, { source: node.id }),
      key: `${place} ${key}`,
      // Nobody knows which node it was: it couldn't be delivered.
      ...(described ? {} : { stage: 'SinkDelivery' }),
    };
    return this.room.report(failure, { always: true, place, bySource: true });
  }

  /** Follows records as the lineage does, and keeps those that failed for good where no node has. */
  keeping(lineage: RuntimeLineage): Lineage {
    return {
      send: async (node, msg, options) =>
        this.#settled(node, msg, options, await lineage.send(node, msg, options)),
      traceOf: (msg) => lineage.traceOf(msg),
      markKept: (msg, error) => lineage.markKept(msg, error),
      get active() {
        return lineage.active;
      },
    };
  }

  async #settled(
    source: RuntimeNode,
    msg: Message,
    { stamp, origin, accepted, replayOf, deadLetter }: TrackOptions,
    verdict: Verdict,
  ): Promise<Verdict> {
    if (verdict.kind !== 'failed' || verdict.failure !== 'permanent' || verdict.kept) return verdict;
    // A source that has told its origin that the record is safe gives it up by itself.
    if (accepted || deadLetter || replayOf !== undefined) return verdict;
    const node = verdict.nodeId === undefined ? null : this.deps.getNode(verdict.nodeId);
    const { error } = verdict;
    const failure: Failure = {
      error,
      class: 'permanent',
      rule: this.ruleOf(node ?? source),
      msg,
      node: node ? this.#describe(node) : undefined,
      stamp,
      target: targetOf(stamp, origin, { source: source.id }),
    };
    try {
      const disposal = await this.room.report(failure, { bySource: true });
      return disposal === 'kept' ? { ...verdict, kept: true } : verdict;
    } catch (fault) {
      return { kind: 'failed', failure: 'transient', error: fault instanceof Error ? fault : error };
    }
  }

  #failure(of: {
    node: RuntimeNode | undefined;
    msg: Message;
    error: Error;
    trace: Trace | undefined;
    rule: string;
    class: FailureClass;
  }): Failure {
    const { node, msg, error, trace, rule } = of;
    const ids = {
      ...(node && { node: node.id }),
      ...(trace && !trace.deadLetter && { source: trace.source.id }),
    };
    const key = trace && node && deliveryKey(trace, node.id, msg);
    return {
      error,
      class: of.class,
      rule,
      msg,
      node: node && this.#describe(node),
      stamp: trace?.stamp,
      target: targetOf(trace?.stamp, trace?.origin, ids),
      ...(key !== undefined && { key }),
    };
  }

  #describe({ id, type, name }: RuntimeNode): FailedNode {
    return { id, type, isSink: this.deps.isSink(id), ...(name !== undefined && { name }) };
  }
}

const keyOf = ({ _msgid }: Message, nodeId: string) => `${_msgid} ${nodeId}`;

function targetOf(
  stamp: Stamp | undefined,
  origin: string | undefined,
  ids: Pick<ReplayTarget, 'node' | 'source'>,
): ReplayTarget {
  return {
    ...ids,
    ...(origin !== undefined && { origin }),
    ...(stamp && { receivedAt: stamp.receivedAt }),
    ...(stamp?.key !== undefined && { key: stamp.key }),
  };
}

/** The same for the same data at the same node, however often it is tried: one failure has one letter. */
function deliveryKey(trace: Trace, nodeId: string, msg: Message): string | undefined {
  try {
    const [, content] = encodeBody(msg.payload);
    return trace.deliveryId(
      `dead-letter ${nodeId}`,
      typeof content === 'string' ? Buffer.from(content) : content,
    );
  } catch {
    return undefined;
  }
}

/** The very error where the lineage saw it; else what Node-RED made of it. */
function caughtError({ error }: Caught, seen: unknown): Error {
  if (seen instanceof Error) return seen;
  if (!error) return new InputError('ERR_SLUICE_LETTER_SENT', 'sent to the dead letters by the flow');
  const made = new Error(String(error.message));
  return error.code === undefined ? made : Object.assign(made, { code: error.code });
}
