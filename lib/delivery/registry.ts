/**
 * The runtime's one list of live sources and sinks, and what each source can reach in the deployed flow. Between a
 * deploy and `flows:started`, or while node types are missing, it isn't ready and every entry is refused: a guess
 * could lose a record.
 */
import {
  buildFlowGraph,
  hasLiveOutput,
  inRing,
  reach,
  type FlowGraph,
  type Reach,
} from '../flow-graph/flow-graph';
import { nodeKind } from '../flow-graph/node-kinds';
import type { FlowConfigNode } from '../node-red/types';
import { admitTo, refuse, FLOW_RETRY_SECS, type Admission } from './admission';
import type { Sink, Source } from './contract';

export interface RegistryOptions {
  readonly subflowReach: 'conservative' | 'exact';
}

interface SourceReach extends Reach {
  /** Live sinks of the whole answer, resolved once per change of the registry. */
  readonly live: readonly Sink[];
  /** A reachable sink that should be live and isn't: its node failed to start. */
  readonly missing: string | undefined;
}

export class Registry {
  readonly #sinks = new Map<string, Sink>();
  readonly #sources = new Map<string, Source>();
  readonly #reach = new Map<string, Reach>();
  readonly #resolved = new Map<string, SourceReach>();
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
    this.#forget();
    for (const source of this.#sources.values()) source.pause();
  }

  /** The deployed flow runs: `flows` is all of it. */
  flowsStarted(flows: readonly FlowConfigNode[]): void {
    this.#graph = buildFlowGraph(flows);
    this.#forget();
    for (const source of this.#sources.values()) source.resume();
  }

  /** What a source reaches, or undefined while the flow isn't known. */
  reachOf(sourceId: string): SourceReach | undefined {
    const known = this.#resolved.get(sourceId);
    if (known || !this.#graph) return known;
    const found = this.#resolve(this.#walk(this.#graph, sourceId));
    this.#resolved.set(sourceId, found);
    return found;
  }

  /** Asks every reachable sink for room and reserves it, or says who refuses. */
  admit(sourceId: string, bytes: number, records: number): Admission {
    const reached = this.reachOf(sourceId);
    if (!reached) return refuse('flow', FLOW_RETRY_SECS);
    if (reached.missing !== undefined) return refuse(reached.missing, FLOW_RETRY_SECS);
    return admitTo(reached.live, bytes, records);
  }

  /**
   * Whether a queue's output may send now. Only sinks that it surely reaches count; itself, queues in a ring with it
   * and merely conservative members don't, so that a queue can't wait for itself.
   */
  canDeliver(queueId: string, bytes: number, records: number): boolean {
    const graph = this.#graph;
    if (!graph) return false;
    return this.#walk(graph, queueId).certain.every((id) => {
      if (id === queueId || this.#inRing(graph, queueId, id)) return true;
      return this.#sinks.get(id)?.canTake(bytes, records) ?? false;
    });
  }

  /** Whether a live node is wired to a source's output at all. */
  hasLiveOutput(sourceId: string): boolean {
    return this.#graph !== undefined && hasLiveOutput(this.#graph, sourceId);
  }

  #inRing(graph: FlowGraph, a: string, b: string): boolean {
    return nodeKind(graph.typeOf(b)) === 'queue' && inRing(this.#walk(graph, a), a, this.#walk(graph, b), b);
  }

  #walk(graph: FlowGraph, sourceId: string): Reach {
    let found = this.#reach.get(sourceId);
    if (!found) {
      found = reach(graph, sourceId, { subflowReach: this.options.subflowReach });
      this.#reach.set(sourceId, found);
    }
    return found;
  }

  #resolve(found: Reach): SourceReach {
    const live: Sink[] = [];
    let missing: string | undefined;
    for (const id of found.sinks) {
      const sink = this.#sinks.get(id);
      if (sink) live.push(sink);
      else missing ??= this.#graph?.nameOf(id) ?? id;
    }
    return { ...found, live, missing };
  }

  #add<Member extends Sink | Source>(members: Map<string, Member>, member: Member): () => void {
    members.set(member.id, member);
    this.#forget();
    return () => {
      if (members.get(member.id) !== member) return;
      members.delete(member.id);
      this.#forget();
    };
  }

  #forget(): void {
    this.#resolved.clear();
    if (!this.#graph) this.#reach.clear();
  }
}
