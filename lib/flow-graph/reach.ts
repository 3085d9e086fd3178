import { InputError } from '../errors/errors';
import type { FlowGraph, Vertex } from './graph';
import { textOf } from './flow-json';
import type { LiveNode } from './live-nodes';
import { DELIVERY_PORT, type Role } from './node-types';

/** A sink that registered at run time. */
export interface LiveSink {
  readonly id: string;
  /** The tab or instance it lives on. */
  readonly z: string;
}

export interface ReachOptions {
  /** `conservative`: a subflow on the way makes the answer every enabled sink of the flow. `exact`: it is walked through. */
  readonly subflowReach: 'conservative' | 'exact';
  /** Live sinks; only those are used that the JSON doesn't show, because they are inside a packaged subflow (a module). */
  readonly liveSinks?: readonly LiveSink[];
  /** What the running node of this id, and those inside it, add to what the JSON tells of untrackable nodes. */
  readonly untrackableLive?: ((id: string) => readonly ReachNote[]) | undefined;
}

/** Something on the way that needs the user's attention. */
export interface ReachNote {
  readonly id: string;
  readonly type: string;
  /** Absent for a node that nobody named. */
  readonly name?: string;
  readonly why: string;
}

/** What a source's records can come to. Ids are those of the runtime, in the order of the flow file. */
export interface Reach {
  /** Every sink and queue that must have room for the source to admit a record. */
  readonly sinks: readonly string[];
  /** The part of `sinks` that the walk itself met, without those that are in only for safety. */
  readonly certain: readonly string[];
  /** Tabs that records can come to on the way to them, the source's own included. */
  readonly tabs: readonly string[];
  /** More than the exact answer, for the reasons in `why`. */
  readonly conservative: boolean;
  readonly why: readonly string[];
  /** Nodes after which nobody can tell when the record is finished. */
  readonly untrackable: readonly ReachNote[];
  /** Ways out that the walk can't see through. */
  readonly notAnalysed: readonly ReachNote[];
}

const isSinkRole = (role: Role | undefined) => role === 'sink' || role === 'queue';

function nameOf(node: LiveNode): string {
  const name = textOf(node.config.name);
  return name === '' ? node.id : `"${name}" (${node.id})`;
}

/** The node with this run-time id, or the packaged subflow whose inside it is part of. */
function ownerOf(graph: FlowGraph, id: string): LiveNode | undefined {
  for (let rest = id; rest !== ''; rest = rest.slice(0, Math.max(0, rest.lastIndexOf('-')))) {
    const node = graph.byId.get(rest);
    if (node) return node;
  }
  return undefined;
}

/** One walk: what was met for certain first, then what only may be. */
class Walk {
  readonly seen: Uint8Array;
  private readonly work: number[] = [];
  private readonly deferred: number[] = [];

  constructor(private readonly graph: FlowGraph) {
    this.seen = new Uint8Array(graph.vertices.length);
  }

  private push(vertex: number): void {
    if (vertex < 0 || this.seen[vertex]) return;
    this.seen[vertex] = 1;
    this.work.push(vertex);
  }

  private send(vertex: Vertex): void {
    for (const output of vertex.outputs) for (const to of output) this.push(to);
  }

  private goOn(vertex: Vertex): boolean {
    return !vertex.gated || (vertex.call >= 0 && this.graph.canReturn[vertex.call] === 1);
  }

  private call(vertex: Vertex): void {
    if (vertex.loose) this.deferred.push(vertex.call);
    else this.push(vertex.call);
  }

  private visit(vertex: Vertex): void {
    this.push(vertex.catches);
    this.call(vertex);
    if (!this.goOn(vertex)) return;
    for (const to of vertex.completes ?? []) this.push(to);
    // A queue takes custody: what it sends is its own affair.
    if (vertex.role !== 'queue') this.send(vertex);
  }

  /** The source sends; it receives nothing, so no complete node watches it unless the record comes back to it. */
  start(vertex: Vertex): void {
    this.call(vertex);
    this.deferred.push(vertex.catches);
    if (vertex.role === 'queue') {
      for (const [port, targets] of vertex.outputs.entries()) {
        for (const to of targets) {
          if (port === DELIVERY_PORT) this.push(to);
          else this.deferred.push(to);
        }
      }
    } else if (this.goOn(vertex)) this.send(vertex);
  }

  run(): void {
    for (let at = this.work.pop(); at !== undefined; at = this.work.pop()) {
      const vertex = this.graph.vertices[at];
      if (vertex) this.visit(vertex);
    }
  }

  /** Goes on with what was put off. */
  runDeferred(): void {
    for (let at = this.deferred.pop(); at !== undefined; at = this.deferred.pop()) {
      this.push(at);
      this.run();
    }
  }
}

const BY_ID_ONLY =
  'its target comes with the message: link in nodes inside subflow instances, which only their run-time ids name, are left out';

/** A note on the running node of this id; `node` is whatever has its type and name. */
export function noteOn(
  id: string,
  node: { readonly type: string; readonly name?: unknown },
  why: string,
): ReachNote {
  const name = textOf(node.name);
  return { id, type: node.type, ...(name !== '' && { name }), why };
}

function notesOn(
  graph: FlowGraph,
  met: readonly LiveNode[],
  { untrackableLive }: ReachOptions,
): Pick<Reach, 'untrackable' | 'notAnalysed'> {
  const untrackable: ReachNote[] = [];
  const notAnalysed: ReachNote[] = [];
  for (const { id, config, closed, index } of met) {
    const remarks = graph.remarks.get(config);
    const note = (why: string) => noteOn(id, config, why);
    if (remarks?.untrackable) untrackable.push(note(remarks.untrackable));
    if (untrackableLive) untrackable.push(...untrackableLive(id));
    if (remarks?.channel) notAnalysed.push(note(remarks.channel));
    if (closed) notAnalysed.push(note(closed));
    if (graph.vertices[index]?.loose && graph.hasInnerLinkIns) notAnalysed.push(note(BY_ID_ONLY));
  }
  return { untrackable, notAnalysed };
}

/** Subflow instances and packaged subflows on the way that widen the answer, each with its reason. */
function wideningReasons(
  met: readonly LiveNode[],
  modules: ReadonlySet<LiveNode>,
  { subflowReach }: ReachOptions,
): Set<string> {
  const reasons = new Set<string>();
  for (const node of met) {
    if (modules.has(node))
      reasons.add(`passes packaged subflow ${nameOf(node)}, whose inside the flow doesn't show`);
    if (node.closed) reasons.add(`passes subflow instance ${nameOf(node)}, but ${node.closed}`);
    if (subflowReach === 'exact') continue;
    const instance = node.inside ? node : node.scope.owner;
    if (instance) reasons.add(`passes subflow instance ${nameOf(instance)}`);
  }
  return reasons;
}

/**
 * Everything a record admitted by this source can come to, by an iterative walk that meets each node once. `sourceId` is a
 * run-time id; a queue's id means its output. Throws InputError when no such node is live.
 */
export function reach(graph: FlowGraph, sourceId: string, options: ReachOptions): Reach {
  const start = ownerOf(graph, sourceId);
  const startVertex = start && graph.vertices[start.index];
  if (!startVertex) {
    throw new InputError(
      'ERR_SLUICE_FLOW_SOURCE_UNKNOWN',
      `no enabled node has the id ${sourceId}; deploy the flow again, or check that the node and its tab are enabled`,
    );
  }
  const packaged = (options.liveSinks ?? []).flatMap(({ id, z }) => {
    const owner = graph.byId.has(id) ? undefined : ownerOf(graph, z);
    return owner ? [{ id, owner }] : [];
  });
  const modules = new Set(packaged.map(({ owner }) => owner));
  if (start.id !== sourceId) modules.add(start);

  const walk = new Walk(graph);
  walk.start(startVertex);
  walk.run();
  const isSink = (node: LiveNode) => isSinkRole(graph.vertices[node.index]?.role);
  const isSeen = (node: LiveNode) => walk.seen[node.index] === 1;
  const certain = graph.nodes.filter((node) => isSeen(node) && isSink(node)).map(({ id }) => id);
  walk.runDeferred();

  const met = graph.nodes.filter((node) => node === start || isSeen(node));
  const widening = wideningReasons(met, modules, options);
  const tabs = new Set(met.map(({ scope }) => scope.tab));
  const wide = (node: LiveNode) => widening.size > 0 && tabs.has(node.scope.tab);
  const sinks = graph.nodes.filter((node) => isSink(node) && (isSeen(node) || wide(node)));
  const guesses = met
    .filter(({ index }) => graph.vertices[index]?.loose)
    .map((node) => `${nameOf(node)} calls a link in that is known only at run time`);
  const why = [...widening, ...guesses];
  return {
    sinks: [...sinks.map(({ id }) => id), ...packaged.filter(({ owner }) => wide(owner)).map(({ id }) => id)],
    certain,
    tabs: [...tabs],
    conservative: why.length > 0,
    why,
    ...notesOn(graph, met, options),
  };
}
