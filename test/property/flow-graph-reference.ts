/**
 * A deliberately naive walk to compare the real one with: it moves single messages through the flow, each with its stack of
 * link calls, looks everything up by scanning the JSON, and remembers each (node, stack) it has been at. Nothing is shared
 * with the library. Calls nested deeper than MAX_CALLS are not followed, which is deep enough for the small flows it gets.
 */
import type { FlowConfigNode } from '#lib/node-red/types';

/** Ids from the outermost instance to the node; `['x', 'f']` is the node `x-f`. */
type Path = readonly string[];
interface Message {
  readonly at: Path;
  readonly calls: readonly Path[];
}

const MAX_CALLS = 7;
const SINKS = ['rest-sink', 'push-queue'];
const NEVER_FAIL = ['junction', 'link in', 'link out', 'catch', 'complete'];

export interface Expected {
  /** Every node that some message was at. */
  readonly met: string[];
  /** The sinks among them. */
  readonly exact: string[];
  readonly conservative: string[];
}

export function walkNaively(flows: readonly FlowConfigNode[], source: Path, startFails: boolean): Expected {
  const configOf = (id: string | undefined) => flows.find((one) => one.id === id);
  const last = (path: Path) => configOf(path.at(-1)) ?? { id: '', type: '' };
  const subflowId = (instance: Path) => last(instance).type.replace('subflow:', '');
  const isInstance = (path: Path) => last(path).type.startsWith('subflow:');
  const idsOf = (value: unknown) => (Array.isArray(value) ? (value as string[]) : []);

  /** The node of this id in the surroundings of another one, when it is live. */
  const beside = (outer: Path, id: string): Path[] => {
    const config = configOf(id);
    if (!config || config.d === true) return [];
    const home = configOf(config.z);
    if (outer.length > 0) return config.z === subflowId(outer) ? [[...outer, id]] : [];
    return home?.type === 'tab' && home.disabled !== true ? [[id]] : [];
  };
  const onSameTab = (at: Path, id: string): Path[] =>
    beside(at.slice(0, -1), id).filter((path) => last(path).z === last(at).z);
  const everyLive = (): Path[] => {
    const found: Path[] = [];
    const look = (outer: Path) => {
      for (const { id } of flows) {
        for (const path of beside(outer, id)) {
          if (['tab', 'subflow', 'group'].includes(last(path).type)) continue;
          found.push(path);
          if (isInstance(path)) look(path);
        }
      }
    };
    look([]);
    return found;
  };

  const portWires = (subflow: FlowConfigNode | undefined, side: 'in' | 'out') =>
    ((subflow?.[side] ?? []) as { wires: { id: string; port: number }[] }[]).map(({ wires }) => wires);

  const targets = (at: Path, port: number): Path[] => {
    const outer = at.slice(0, -1);
    const config = last(at);
    const linkedFrom = flows.filter((one) => one.type === 'link in' && idsOf(one.links).includes(config.id));
    const ids =
      config.type === 'link out'
        ? [...idsOf(config.links), ...linkedFrom.map(({ id }) => id)]
        : idsOf((config.wires as string[][] | undefined)?.[port]);
    const beyond =
      outer.length === 0
        ? []
        : portWires(configOf(subflowId(outer)), 'out').flatMap((wires, output) =>
            wires.some((wire) => wire.id === config.id && wire.port === port) ? targets(outer, output) : [],
          );
    return [...ids.flatMap((id) => beside(outer, id)), ...beyond];
  };
  const sent = (at: Path): Path[] => {
    if (isInstance(at)) {
      const definition = configOf(subflowId(at));
      const straight = portWires(definition, 'out').flatMap((wires, output) =>
        wires.some(({ id }) => id === definition?.id) ? targets(at, output) : [],
      );
      return [
        ...portWires(definition, 'in')
          .flat()
          .flatMap(({ id }) => beside(at, id)),
        ...straight,
      ];
    }
    if (last(at).mode === 'return') return [];
    return [0, 1].flatMap((port) => targets(at, port));
  };

  const isInGroup = (id: string, group: unknown): boolean => {
    for (let g = configOf(id)?.g; typeof g === 'string'; g = configOf(g)?.g) if (g === group) return true;
    return false;
  };
  const groupsAround = (id: string, until: unknown): number => {
    let count = 0;
    for (let g = configOf(id)?.g; typeof g === 'string' && g !== until; g = configOf(g)?.g) count++;
    return count;
  };
  const caught = (at: Path): Path[] => {
    for (let reporter = at; reporter.length > 0; reporter = reporter.slice(0, -1)) {
      const { id } = last(reporter);
      const around = flows
        .filter((one) => one.type === 'catch')
        .flatMap((one) => onSameTab(reporter, one.id))
        .map((path) => ({ path, config: last(path) }))
        .filter(({ config: { scope, g } }) => {
          if (Array.isArray(scope)) return scope.includes(id);
          return scope !== 'group' || g === undefined || isInGroup(id, g);
        })
        .map((one) => ({ ...one, distance: groupsAround(id, one.config.g) }));
      const general = around.filter(({ config }) => config.uncaught !== true);
      const uncaught = around.filter(({ config }) => config.uncaught === true);
      const nearest = Math.min(...uncaught.map(({ distance }) => distance));
      // Asked in this order where they are as near: with a scope, then for every error, then for uncaught ones.
      const turn = ({ config }: { config: FlowConfigNode }) =>
        (config.scope ? 0 : config.uncaught === true ? 2000 : 1000) + flows.indexOf(config);
      const first = uncaught.some(
        (one) =>
          one.distance === nearest &&
          general.every(
            (other) =>
              other.distance > one.distance || (other.distance === one.distance && turn(one) < turn(other)),
          ),
      );
      const takers = first ? around : general.length > 0 ? general : uncaught;
      if (takers.length > 0) return takers.map(({ path }) => path);
    }
    return [];
  };
  const completed = (at: Path): Path[] =>
    flows
      .filter((one) => one.type === 'complete' && idsOf(one.scope).includes(last(at).id))
      .filter((one) => !isInstance(at) && !(one.wires as string[][]).flat().includes(last(at).id))
      .flatMap((one) => onSameTab(at, one.id));

  const been = new Map<string, Message>();
  const work: Message[] = [];
  const go = (paths: readonly Path[], calls: readonly Path[]) => {
    for (const at of paths) {
      const key = JSON.stringify([at, calls]);
      if (been.has(key)) continue;
      been.set(key, { at, calls });
      work.push({ at, calls });
    }
  };
  const finish = (at: Path, calls: readonly Path[]) => {
    go(completed(at), calls);
    if (last(at).type !== 'push-queue') go(sent(at), calls);
  };

  go(sent(source), []);
  if (startFails) go(caught(source), []);
  for (let next = work.pop(); next; next = work.pop()) {
    const { at, calls } = next;
    const { type, mode, linkType, links } = last(at);
    if (!NEVER_FAIL.includes(type) && !isInstance(at)) go(caught(at), calls);
    if (type === 'link call') {
      const outer = at.slice(0, -1);
      const anywhere = flows.flatMap(({ id }) => [
        ...beside([], id),
        ...(outer.length > 0 ? beside(outer, id) : []),
      ]);
      const wanted =
        linkType === 'dynamic' ? anywhere : anywhere.filter((path) => path.at(-1) === idsOf(links)[0]);
      const entries = wanted.filter((path) => last(path).type === 'link in');
      if (calls.length < MAX_CALLS) go(entries, [...calls, at]);
    } else if (mode === 'return') {
      const caller = calls.at(-1);
      if (caller) finish(caller, calls.slice(0, -1));
      go(completed(at), calls);
    } else finish(at, calls);
  }

  const idOf = (path: Path) => path.join('-');
  const visited = [...been.values()].map(({ at }) => at);
  const isSink = (path: Path) => SINKS.includes(last(path).type);
  const exact = new Set(visited.filter(isSink).map(idOf));
  const tabs = new Set([source, ...visited].map((path) => configOf(path[0])?.z));
  const meetsSubflow = [source, ...visited].some((path) => path.length > 1 || isInstance(path));
  const all = everyLive().filter((path) => isSink(path) && tabs.has(configOf(path[0])?.z));
  return {
    met: [...new Set(visited.map(idOf))].sort(),
    exact: [...exact].sort(),
    conservative: [...new Set([...exact, ...(meetsSubflow ? all.map(idOf) : [])])].sort(),
  };
}
