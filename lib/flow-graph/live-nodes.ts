/**
 * Which nodes exist at run time. A node on a tab keeps its id; one inside a subflow exists once per live instance, as
 * `<instance>-<definition>`, nested likewise. Disabled nodes and tabs have none.
 */
import type { FlowConfigNode } from '../node-red/types';
import { isDisabled, subflowOf, type Definition, type FlowJson } from './flow-json';

export interface Scope {
  readonly definition: Definition;
  /** Id of the tab this is, or that the outermost instance is on. */
  readonly tab: string;
  /** The instance whose inside this is; undefined for a tab. */
  readonly owner: LiveNode | undefined;
  readonly nodes: LiveNode[];
  /** What ids in wires mean here: inside an instance its own definition's ids, on a tab all run-time ids. */
  readonly names: Map<string, LiveNode>;
}

export interface LiveNode {
  readonly index: number;
  readonly id: string;
  readonly config: FlowConfigNode;
  readonly scope: Scope;
  /** The inside of a subflow instance. */
  inside: Scope | undefined;
  /** Why the inside of a subflow instance can't be seen. */
  closed: string | undefined;
}

export interface LiveNodes {
  readonly nodes: readonly LiveNode[];
  readonly byId: ReadonlyMap<string, LiveNode>;
  readonly scopes: readonly Scope[];
}

/** Nested instances multiply: a file of a hundred lines can ask for 2^60 nodes. Past this many, instances stay closed. */
const MAX_NODES = 200_000;

/** The node of this id in the same tab or instance. */
export function neighbour(scope: Scope, id: string): LiveNode | undefined {
  const found = scope.names.get(id);
  return found?.scope === scope ? found : undefined;
}

function contains(scope: Scope, definition: Definition): boolean {
  for (let at: Scope | undefined = scope; at; at = at.owner?.scope) {
    if (at.definition === definition) return true;
  }
  return false;
}

export function expand(flow: FlowJson): LiveNodes {
  const nodes: LiveNode[] = [];
  const byId = new Map<string, LiveNode>();
  const scopes: Scope[] = [];

  const open = (definition: Definition, tab: string, owner: LiveNode | undefined): Scope => {
    const scope: Scope = {
      definition,
      tab,
      owner,
      nodes: [],
      names: owner ? new Map<string, LiveNode>() : byId,
    };
    scopes.push(scope);
    return scope;
  };
  const populate = (scope: Scope) => {
    for (const config of scope.definition.nodes) {
      if (isDisabled(config)) continue;
      const id = scope.owner ? `${scope.owner.id}-${config.id}` : config.id;
      const node: LiveNode = {
        index: nodes.length,
        id,
        config,
        scope,
        inside: undefined,
        closed: undefined,
      };
      nodes.push(node);
      scope.nodes.push(node);
      byId.set(id, node);
      if (scope.owner) scope.names.set(config.id, node);
      const subflow = subflowOf(config.type);
      if (subflow !== undefined) enter(node, flow.subflows.get(subflow));
    }
  };
  const enter = (node: LiveNode, definition: Definition | undefined) => {
    if (!definition) node.closed = 'its subflow is not in this flow';
    else if (contains(node.scope, definition)) node.closed = 'its subflow contains itself';
    else if (nodes.length > MAX_NODES) node.closed = `the flow has more than ${MAX_NODES} nodes`;
    else node.inside = open(definition, node.scope.tab, node);
  };

  for (const tab of flow.tabs.values()) if (!tab.disabled) open(tab, tab.id, undefined);
  // Instances found on the way are appended, so owners always come before what is inside them.
  for (const scope of scopes) populate(scope);
  return { nodes, byId, scopes };
}
