/**
 * The deployed flow as a graph to walk: one vertex per live node, plus **hubs** for edges that many nodes share (the catch
 * nodes of a tab, the targets of a dynamic link call), so that its size stays linear in the flow.
 */
import type { FlowConfigNode } from '../node-red/types';
import { catchersByNode } from './catchers';
import { idsIn, outputsOf, readFlow, textOf, type FlowJson } from './flow-json';
import { expand, neighbour, type LiveNode, type LiveNodes, type Scope } from './live-nodes';
import { roleOf as ownRoles, SILENT_TYPES, type Role, type RoleOf } from './node-types';
import { remarksOn, type AsyncStores, type Remarks } from './remarks';
import { returning } from './returning';

/** Vertices per output. */
type Outputs = readonly (readonly number[])[];

export interface Vertex {
  /** Where what the node sends goes; a hub has one output. */
  readonly outputs: Outputs;
  /** Complete nodes that watch it. */
  completes: number[] | undefined;
  /** Hub of the catch nodes that get its errors, or -1. */
  catches: number;
  /** Vertex that it calls by link, or -1. */
  call: number;
  /** The call's target is known only at run time. */
  loose: boolean;
  /** It sends only after the routine it calls returned. */
  gated: boolean;
  /** A link out in return mode: it goes back to whoever called. */
  returns: boolean;
  readonly role: Role | undefined;
}

export interface FlowGraph {
  readonly nodes: readonly LiveNode[];
  readonly byId: ReadonlyMap<string, LiveNode>;
  /** Live nodes at their index, hubs behind them. */
  readonly vertices: readonly Vertex[];
  /** 1 where a routine entered at this vertex can return to its caller. */
  readonly canReturn: Uint8Array;
  /** What the JSON tells about nodes beyond their edges; nodes without remarks are absent. */
  readonly remarks: ReadonlyMap<FlowConfigNode, Remarks>;
  /** Some link in is inside a subflow instance, where a dynamic call reaches it only by its run-time id. */
  readonly hasInnerLinkIns: boolean;
  readonly roleOf: RoleOf;
}

interface FlowGraphOptions {
  readonly roleOf?: RoleOf;
  readonly asyncStores?: AsyncStores | undefined;
}

const NOTHING: readonly number[] = [];

function indexesOf(scope: Scope, ids: Iterable<unknown>): number[] {
  const indexes: number[] = [];
  for (const id of ids) {
    const node = typeof id === 'string' ? scope.names.get(id) : undefined;
    if (node) indexes.push(node.index);
  }
  return indexes;
}

/**
 * Live targets per output. Wires of a subflow's definition that leave it are dead, and what feeds an output of it goes on
 * by the wires of the instance. Owners precede what is inside them, so theirs are known first.
 */
function sendTargets(flow: FlowJson, live: LiveNodes): Outputs[] {
  const targets: Outputs[] = [];
  for (const { config, scope } of live.nodes) {
    const linked = config.type === 'link out' ? flow.links.get(config.id) : undefined;
    const outputs: (readonly number[])[] = [];
    for (const ids of linked ? [linked] : outputsOf(config)) outputs.push(indexesOf(scope, ids));
    const outer = scope.owner ? targets[scope.owner.index] : undefined;
    for (const { port, output } of scope.definition.exits.get(config.id) ?? []) {
      while (outputs.length <= port) outputs.push(NOTHING);
      outputs[port] = [...(outputs[port] ?? NOTHING), ...(outer?.[output] ?? NOTHING)];
    }
    targets.push(outputs);
  }
  return targets;
}

/** An open instance sends into its inside, and past it where the subflow's input is wired straight to an output. */
function entriesOf(inside: Scope, outputs: Outputs): number[] {
  const entries = indexesOf(inside, inside.definition.entries);
  const past = inside.definition.exits.get(inside.definition.id) ?? [];
  return [...entries, ...past.flatMap(({ output }) => outputs[output] ?? NOTHING)];
}

function linkMode(config: FlowConfigNode): string {
  return config.type === 'link out' ? textOf(config.mode) || 'link' : '';
}

function completesOf({ config, scope }: LiveNode): LiveNode[] {
  const wired = new Set(outputsOf(config).flat());
  // The runtime leaves out what the complete node is itself wired to.
  const watched = idsIn(config.scope).filter((id) => !wired.has(id));
  return watched.flatMap((id) => neighbour(scope, id) ?? []).filter((node) => !node.inside);
}

class Builder {
  readonly vertices: Vertex[] = [];
  private readonly hubs = new Map<object, number>();

  constructor(
    private readonly live: LiveNodes,
    private readonly roleOf: RoleOf,
  ) {}

  addNode(node: LiveNode, outputs: Outputs): void {
    const mode = linkMode(node.config);
    const sends = mode === '' || mode === 'link';
    this.vertices.push({
      outputs: node.inside ? [entriesOf(node.inside, outputs)] : sends ? outputs : [],
      completes: undefined,
      catches: -1,
      call: -1,
      loose: false,
      gated: node.config.type === 'link call',
      returns: mode === 'return',
      role: this.roleOf(node.config.type),
    });
  }

  /** The one hub for this very key object. */
  hub(key: object, members: () => readonly number[]): number {
    const known = this.hubs.get(key);
    if (known !== undefined) return known;
    const index = this.vertices.length;
    this.hubs.set(key, index);
    this.vertices.push({
      outputs: [members()],
      completes: undefined,
      catches: -1,
      call: -1,
      loose: false,
      gated: false,
      returns: false,
      role: undefined,
    });
    return index;
  }

  /** Targets by name or id: link ins on tabs, and those beside the caller when it is inside a subflow. */
  anyLinkIn(caller: Scope): number {
    const linkIns = (nodes: readonly LiveNode[]) =>
      nodes.filter((node) => node.config.type === 'link in').map((node) => node.index);
    const onTabs = this.hub(this.live, () => linkIns(this.live.nodes.filter((node) => !node.scope.owner)));
    if (!caller.owner) return onTabs;
    return this.hub(caller, () => [onTabs, ...linkIns(caller.nodes)]);
  }

  linkCall(node: LiveNode, vertex: Vertex): void {
    const { links, linkType } = node.config;
    vertex.loose = linkType === 'dynamic';
    if (vertex.loose) {
      vertex.call = this.anyLinkIn(node.scope);
      return;
    }
    const target = typeof links === 'string' ? links : idsIn(links)[0];
    if (target === undefined) return;
    // The runtime looks inside the subflow first, then at run-time ids.
    const found = node.scope.names.get(target) ?? this.live.byId.get(target);
    if (found?.config.type === 'link in') vertex.call = found.index;
  }
}

/** Indexes a deployed flow, once per deploy. Linear in the number of live nodes and wires. */
export function buildFlowGraph(
  flows: readonly FlowConfigNode[],
  { roleOf = ownRoles, asyncStores }: FlowGraphOptions = {},
): FlowGraph {
  const flow = readFlow(flows);
  const live = expand(flow);
  const remarks = remarksOn(flows, asyncStores);
  const builder = new Builder(live, roleOf);
  const { vertices } = builder;
  const targets = sendTargets(flow, live);
  for (const node of live.nodes) builder.addNode(node, targets[node.index] ?? [NOTHING]);

  const catchersOf = catchersByNode(live.scopes);
  let hasInnerLinkIns = false;
  for (const node of live.nodes) {
    const vertex = vertices[node.index];
    if (!vertex || node.inside) continue;
    const { type } = node.config;
    if (type === 'link in' && node.scope.owner) hasInnerLinkIns = true;
    if (type === 'link call') builder.linkCall(node, vertex);
    if (remarks.get(node.config)?.callsLinks) {
      vertex.loose = true;
      vertex.call = builder.anyLinkIn(node.scope);
    }
    if (type === 'complete') {
      for (const { index } of completesOf(node)) {
        const watched = vertices[index];
        if (watched) (watched.completes ??= []).push(node.index);
      }
    }
    if (SILENT_TYPES.has(type)) continue;
    const catchers = catchersOf(node);
    if (catchers.length > 0) vertex.catches = builder.hub(catchers, () => catchers.map(({ index }) => index));
  }
  return {
    nodes: live.nodes,
    byId: live.byId,
    vertices,
    canReturn: returning(vertices),
    remarks,
    hasInnerLinkIns,
    roleOf,
  };
}
