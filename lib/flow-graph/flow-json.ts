/** Tolerant reading of flow JSON: whatever has the wrong shape counts as absent, as the runtime would find nothing there. */
import type { FlowConfigNode } from '../node-red/types';

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The ids in a list; null and empty entries (Node-RED writes them for wires that leave a subflow) are left out. */
export function idsIn(value: unknown): string[] {
  if (!Array.isArray(value)) return [];
  return value.filter((id): id is string => typeof id === 'string' && id !== '');
}

/** The lists of wired ids, one per output; null and other strangers may be among the ids. */
export function outputsOf(node: FlowConfigNode): (readonly unknown[])[] {
  return Array.isArray(node.wires)
    ? node.wires.map((ids: unknown) => (Array.isArray(ids) ? (ids as unknown[]) : []))
    : [];
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The definition a node is an instance of, or undefined. */
export function subflowOf(type: string): string | undefined {
  return type.startsWith('subflow:') ? type.slice('subflow:'.length) : undefined;
}

export function isDisabled(node: FlowConfigNode): boolean {
  return node.d === true;
}

interface PortWire {
  readonly id: string;
  readonly port: number;
}

/** The wires of a subflow's `in` or `out` list, per port. */
function portWires(value: unknown): PortWire[][] {
  if (!Array.isArray(value)) return [];
  return value.map((port: unknown) => {
    const wires = isRecord(port) && Array.isArray(port.wires) ? port.wires : [];
    return wires.flatMap((wire: unknown) =>
      isRecord(wire) && typeof wire.id === 'string'
        ? [{ id: wire.id, port: typeof wire.port === 'number' ? wire.port : 0 }]
        : [],
    );
  });
}

/** A tab or a subflow's definition: what nodes share their surroundings with. */
export interface Definition {
  readonly id: string;
  readonly nodes: FlowConfigNode[];
  /** Group id -> the group around it, or ''. */
  readonly groups: Map<string, string>;
  readonly disabled: boolean;
  /** Nodes that the input of a subflow is wired to. */
  readonly entries: readonly string[];
  /** Inner node (or the definition's own id: input wired to output) -> the outputs of the subflow it feeds. */
  readonly exits: ReadonlyMap<string, readonly { readonly port: number; readonly output: number }[]>;
}

export interface FlowJson {
  /** In the order of the file; nodes without a tab are on the tab ''. */
  readonly tabs: ReadonlyMap<string, Definition>;
  readonly subflows: ReadonlyMap<string, Definition>;
  /** Link out -> the ids it leads to, from both ends' `links`. */
  readonly links: ReadonlyMap<string, ReadonlySet<string>>;
}

function define(id: string, config?: FlowConfigNode): Definition {
  const exits = new Map<string, { port: number; output: number }[]>();
  for (const [output, wires] of portWires(config?.out).entries()) {
    for (const { id: inner, port } of wires) {
      exits.set(inner, [...(exits.get(inner) ?? []), { port, output }]);
    }
  }
  const entries = portWires(config?.in).flatMap((wires) => wires.map((wire) => wire.id));
  return { id, nodes: [], groups: new Map(), disabled: Boolean(config?.disabled), entries, exits };
}

function linkPairs(nodes: Iterable<FlowConfigNode>): Map<string, Set<string>> {
  const links = new Map<string, Set<string>>();
  const connect = (out: string, target: string) => {
    const targets = links.get(out) ?? new Set();
    links.set(out, targets.add(target));
  };
  for (const node of nodes) {
    if (node.type === 'link out') for (const id of idsIn(node.links)) connect(node.id, id);
    if (node.type === 'link in') for (const id of idsIn(node.links)) connect(id, node.id);
  }
  return links;
}

export function readFlow(flows: readonly FlowConfigNode[]): FlowJson {
  const tabs = new Map<string, Definition>();
  const subflows = new Map<string, Definition>();
  // The runtime keeps the last of two nodes with one id.
  const nodes = new Map<string, FlowConfigNode>();
  for (const node of flows) {
    nodes.set(node.id, node);
    if (node.type === 'tab') tabs.set(node.id, define(node.id, node));
    if (node.type === 'subflow') subflows.set(node.id, define(node.id, node));
  }
  for (const node of nodes.values()) {
    if (node.type === 'tab' || node.type === 'subflow') continue;
    const z = textOf(node.z);
    let home = tabs.get(z) ?? subflows.get(z);
    // A tab that nodes name but the file lacks is made up by the runtime.
    if (!home) tabs.set(z, (home = define(z)));
    if (node.type === 'group') home.groups.set(node.id, textOf(node.g));
    else home.nodes.push(node);
  }
  return { tabs, subflows, links: linkPairs(nodes.values()) };
}
