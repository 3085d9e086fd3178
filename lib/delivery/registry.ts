/**
 * The runtime's one list of live sources and sinks, and what each source can reach in the deployed flow. Between a
 * deploy and `flows:started`, or while node types are missing, it isn't ready and every entry is refused: a guess
 * could lose a record.
 */
import {
  awaitedSinks,
  buildFlowGraph,
  reach,
  type AsyncStores,
  type FlowGraph,
  type Reach,
  type ReachNote,
} from '../flow-graph/flow-graph';
import type { FlowConfigNode } from '../node-red/types';
import { admitTo, refuse, ruleStopped, FLOW_RETRY_SECS, type Admission } from './admission';
import type { Sink, Source } from './contract';

export interface RegistryOptions {
  readonly subflowReach: 'conservative' | 'exact';
  readonly asyncStores?: AsyncStores;
  /** Untrackable nodes that the flow JSON doesn't show as such: the running node of this id, and those inside it. */
  readonly untrackableLive?: (id: string) => readonly ReachNote[];
  /** Why records mustn't come to these tabs now: `stopped` rules, or it isn't known yet which are. */
  readonly barrier?: (tabs: readonly string[]) => 'stopped' | 'unknown' | undefined;
}

interface SourceReach extends Reach {
  /** The live sinks of the answer. */
  readonly live: readonly Sink[];
  /** Name of a reachable sink that should be live and isn't: its node failed to start. */
  readonly missing: string | undefined;
}

/** What follows from the deployed flow and the live members; forgotten when either changes. */
interface Derived {
  readonly reach: Map<string, SourceReach | undefined>;
  readonly awaited: Map<string, readonly string[]>;
}

const nothingDerived = (): Derived => ({ reach: new Map(), awaited: new Map() });

export class Registry {
  readonly #sinks = new Map<string, Sink>();
  readonly #sources = new Map<string, Source>();
  #derived = nothingDerived();
  #graph: FlowGraph | undefined;

  constructor(private readonly options: RegistryOptions) {}

  /** Whether the deployed flow is known and running. */
  get ready(): boolean {
    return this.#graph !== undefined;
  }

  get sinks(): readonly Sink[] {
    return [...this.#sinks.values()];
  }

  get sources(): readonly Source[] {
    return [...this.#sources.values()];
  }

  /** Registers a live sink; call the result when it closes. A later sink of the same id takes its place. */
  addSink(sink: Sink): () => void {
    return this.#add(this.#sinks, sink);
  }

  addSource(source: Source): () => void {
    return this.#add(this.#sources, source);
  }

  /** Node-RED is about to stop nodes, for a deploy of any type or a shutdown. */
  flowsStopping(): void {
    this.#graph = undefined;
    this.#derived = nothingDerived();
    for (const source of this.#sources.values()) source.pause();
  }

  /** The deployed flow runs: `flows` is all of it. */
  flowsStarted(flows: readonly FlowConfigNode[]): void {
    this.#graph = buildFlowGraph(flows, { asyncStores: this.options.asyncStores });
    this.#derived = nothingDerived();
    for (const source of this.#sources.values()) source.resume();
  }

  /** What a source reaches; undefined while the flow isn't known, and for an id that isn't live. */
  reachOf(sourceId: string): SourceReach | undefined {
    const { reach: known } = this.#derived;
    if (!known.has(sourceId)) known.set(sourceId, this.#walk(sourceId));
    return known.get(sourceId);
  }

  /** Asks every reachable sink for room and reserves it, or says who refuses. */
  admit(sourceId: string, bytes: number, records: number): Admission {
    const reached = this.reachOf(sourceId);
    if (!reached) return refuse('flow', FLOW_RETRY_SECS);
    const barrier = this.options.barrier?.(reached.tabs);
    if (barrier === 'stopped') return ruleStopped;
    if (barrier === 'unknown') return refuse('flow', FLOW_RETRY_SECS);
    if (reached.missing !== undefined) return refuse(reached.missing, FLOW_RETRY_SECS);
    return admitTo(reached.live, bytes, records);
  }

  /**
   * Whether a queue's output may send now. Only sinks that it surely reaches count; itself, queues in a ring with it
   * and merely conservative members don't, so that a queue can't wait for itself.
   */
  canDeliver(queueId: string, bytes: number, records: number): boolean {
    if (!this.#graph) return false;
    return this.#awaitedBy(this.#graph, queueId).every(
      (id) => this.#sinks.get(id)?.canTake(bytes, records) ?? false,
    );
  }

  /** Whether a rule on the way of a source's records is stopped. */
  isStopped(sourceId: string): boolean {
    return this.options.barrier?.(this.reachOf(sourceId)?.tabs ?? []) === 'stopped';
  }

  isSink(id: string): boolean {
    return this.#sinks.has(id);
  }

  /** The largest batch of the live sinks that a source reaches, 1 at least. */
  largestBatch(sourceId: string): number {
    return Math.max(1, ...(this.reachOf(sourceId)?.live ?? []).map(({ batch = 1 }) => batch));
  }

  /** Whether a source that reaches this sink may send it further records now. */
  isFed(sinkId: string): boolean {
    const reaches = ({ id }: Source) => this.reachOf(id)?.live.some((sink) => sink.id === sinkId) ?? false;
    return this.sources.some((source) => (source.hasMore?.() ?? true) && reaches(source));
  }

  /** Whether a live node is wired to a node's first output at all. */
  hasLiveOutput(nodeId: string): boolean {
    const node = this.#graph?.byId.get(nodeId);
    const targets = node && this.#graph?.vertices[node.index]?.outputs[0];
    return targets !== undefined && targets.length > 0;
  }

  #awaitedBy(graph: FlowGraph, queueId: string): readonly string[] {
    const { awaited } = this.#derived;
    if (!awaited.has(queueId)) {
      const queues = graph.nodes.filter(({ index }) => graph.vertices[index]?.role === 'queue');
      const certain = new Map(queues.map(({ id }) => [id, this.reachOf(id)?.certain ?? []]));
      for (const { id } of queues) awaited.set(id, awaitedSinks(id, certain));
    }
    return awaited.get(queueId) ?? [];
  }

  #walk(sourceId: string): SourceReach | undefined {
    const graph = this.#graph;
    const isLive = graph?.byId.has(sourceId) || this.#sources.has(sourceId);
    if (!graph || !isLive) return undefined;
    const found = reach(graph, sourceId, { ...this.options, liveSinks: this.sinks });
    const live: Sink[] = [];
    let missing: string | undefined;
    for (const id of found.sinks) {
      const sink = this.#sinks.get(id);
      if (sink) live.push(sink);
      else missing ??= sinkName(graph, id);
    }
    return { ...found, live, missing };
  }

  #add<Member extends Sink | Source>(members: Map<string, Member>, member: Member): () => void {
    members.set(member.id, member);
    this.#derived = nothingDerived();
    return () => {
      if (members.get(member.id) !== member) return;
      members.delete(member.id);
      this.#derived = nothingDerived();
    };
  }
}

/** As sinks name themselves: the node's name, else the short word of its type (`push`, `rest`, …). */
function sinkName(graph: FlowGraph, id: string): string {
  const config = graph.byId.get(id)?.config;
  const name = config?.['name'];
  return typeof name === 'string' && name !== '' ? name : (config?.type.split('-')[0] ?? id);
}
