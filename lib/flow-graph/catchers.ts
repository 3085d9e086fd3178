/**
 * Which catch nodes get the errors of a node, as the runtime decides it: by scope and group, `uncaught` ones only when no
 * nearer or earlier one took it, and out of a subflow, with the instance as the reporting node, when nothing inside did.
 */
import { idsIn, textOf } from './flow-json';
import type { LiveNode, Scope } from './live-nodes';

interface Catcher {
  readonly node: LiveNode;
  readonly group: string;
  /** Definition ids of the nodes it is for; undefined when it names none. */
  readonly ids: ReadonlySet<string> | undefined;
  /** Only for nodes in its group. */
  readonly groupOnly: boolean;
  readonly uncaught: boolean;
}

interface Surroundings {
  readonly catchers: readonly Catcher[];
  /** Nodes that some catcher names: all others of a group share one answer. */
  readonly named: ReadonlySet<string>;
  readonly answers: Map<string, readonly LiveNode[]>;
}

function catcherOf(node: LiveNode): Catcher {
  const { scope, uncaught, g } = node.config;
  const group = textOf(g);
  return {
    node,
    group,
    ids: Array.isArray(scope) ? new Set(idsIn(scope)) : undefined,
    groupOnly: scope === 'group' && group !== '',
    uncaught: uncaught === true,
  };
}

/** The runtime asks catchers with a scope first, then those for every error, then those for uncaught ones. */
function rank(catcher: Catcher): number {
  if (catcher.node.config.scope) return 0;
  return catcher.uncaught ? 2 : 1;
}

function surroundingsOf(scope: Scope): Surroundings {
  const catchers = scope.nodes
    .filter((node) => node.config.type === 'catch')
    .map(catcherOf)
    .sort((a, b) => rank(a) - rank(b));
  const named = new Set<string>();
  for (const { ids } of catchers) for (const id of ids ?? []) named.add(id);
  return { catchers, named, answers: new Map() };
}

/** Groups around a group, itself first. */
function groupChain(groups: ReadonlyMap<string, string>, group: string): string[] {
  const chain: string[] = [];
  for (let at = group; groups.has(at) && !chain.includes(at); at = groups.get(at) ?? '') chain.push(at);
  return chain;
}

function takers(catchers: readonly Catcher[], node: LiveNode): readonly LiveNode[] {
  const chain = groupChain(node.scope.definition.groups, textOf(node.config.g));
  const candidates = catchers.flatMap((catcher) => {
    if (catcher.ids?.has(node.config.id) === false) return [];
    const nesting = chain.indexOf(catcher.group);
    if (catcher.groupOnly && nesting < 0) return [];
    return [{ catcher, distance: nesting < 0 ? chain.length : nesting }];
  });
  candidates.sort((a, b) => a.distance - b.distance);
  const taken: LiveNode[] = [];
  let uncaughtTook = false;
  for (const { catcher } of candidates) {
    if (catcher.uncaught && !uncaughtTook) {
      if (taken.length > 0) continue;
      uncaughtTook = true;
    }
    taken.push(catcher.node);
  }
  return taken;
}

/** Answers are shared: nodes whose errors go the same way get the very same array. */
export function catchersByNode(scopes: readonly Scope[]): (node: LiveNode) => readonly LiveNode[] {
  const surroundings = new Map(scopes.map((scope) => [scope, surroundingsOf(scope)]));

  const within = (node: LiveNode): readonly LiveNode[] => {
    const around = surroundings.get(node.scope);
    if (!around || around.catchers.length === 0) return [];
    const key = around.named.has(node.config.id)
      ? `node/${node.config.id}`
      : `group/${textOf(node.config.g)}`;
    let answer = around.answers.get(key);
    if (!answer) around.answers.set(key, (answer = takers(around.catchers, node)));
    return answer;
  };
  return (node) => {
    for (let at: LiveNode | undefined = node; at; at = at.scope.owner) {
      const found = within(at);
      if (found.length > 0) return found;
    }
    return [];
  };
}
