import fc from 'fast-check';
import type { FlowConfigNode } from '#lib/node-red/types';

const HOMES = ['T0', 'T1', 'T2', 'S0', 'S1'] as const;
/** Most nodes share a home, or few wires would lead anywhere. */
const home = fc.constantFrom(...HOMES, 'T0', 'T0', 'T0', 'S0', 'S1');
const kind = fc.constantFrom(
  ...(['function', 'function', 'junction', 'rest-sink', 'rest-sink', 'push-queue'] as const),
  ...(['link in', 'link in', 'link out', 'return', 'link call', 'link call', 'dynamic call'] as const),
  ...(['catch', 'catch', 'complete', 'instance', 'instance'] as const),
);

/** Numbers that stand for nodes: which ones is decided when all nodes are known. */
const picks = (max: number) => fc.array(fc.nat(999), { maxLength: max });

const drawn = fc.record({
  home,
  kind,
  wires: fc.array(picks(2), { minLength: 1, maxLength: 2 }),
  links: picks(3),
  scope: fc.oneof(fc.constant(null), fc.constant('group'), picks(3)),
  flag: fc.boolean(),
  group: fc.constantFrom(undefined, 'outer', 'inner'),
  disabled: fc.integer({ min: 0, max: 14 }).map((n) => n === 0),
});
type Drawn = typeof drawn extends fc.Arbitrary<infer T> ? T : never;
const portPicks = fc.array(fc.record({ pick: fc.nat(999), port: fc.integer({ min: 0, max: 1 }) }), {
  minLength: 1,
  maxLength: 2,
});
const subflowPorts = fc.record({
  entry: picks(2),
  exits: fc.array(portPicks, { maxLength: 2 }),
  straight: fc.boolean(),
});

type Pick = (picked: number, home: string, type?: string) => string;

/** Mostly a node of the wanted kind; one time in ten any node or none, so that dead wires occur, too. */
function picker(nodes: readonly Drawn[]): Pick {
  return (picked, from, type) => {
    const fitting = nodes.flatMap((one, index) =>
      (from === '' || one.home === from) && (type === undefined || one.kind === type) ? [`n${index}`] : [],
    );
    const found = fitting[picked % fitting.length];
    return picked % 10 === 9 || found === undefined ? `n${picked % (nodes.length + 1)}` : found;
  };
}

function configOf(one: Drawn, index: number, pick: Pick): FlowConfigNode {
  // Links stay inside a subflow, and go anywhere between tabs.
  const linkHome = one.home.startsWith('S') ? one.home : '';
  const links = (type: string) => one.links.map((picked) => pick(picked, linkHome, type));
  const scope = Array.isArray(one.scope) ? one.scope.map((picked) => pick(picked, one.home)) : one.scope;
  const base = {
    id: `n${index}`,
    z: one.home,
    type: one.kind as string,
    wires: one.wires.map((port) => port.map((picked) => pick(picked, one.home))),
    ...(one.group !== undefined && { g: `${one.group}-${one.home}` }),
    ...(one.disabled && { d: true }),
  };
  switch (one.kind) {
    case 'link in':
      return { ...base, links: links('link out').slice(0, 1) };
    case 'link out':
      return { ...base, mode: 'link', links: links('link in').slice(0, 1), wires: [] };
    case 'return':
      return { ...base, type: 'link out', mode: 'return', links: [], wires: [] };
    case 'link call':
      return { ...base, linkType: 'static', links: links('link in').slice(0, 1) };
    case 'dynamic call':
      return { ...base, type: 'link call', linkType: 'dynamic', links: [] };
    case 'catch':
      return { ...base, scope, uncaught: one.flag };
    case 'complete':
      return { ...base, scope: Array.isArray(scope) ? scope : [] };
    case 'instance':
      // Tabs hold instances of both subflows, S0 holds instances of S1, S1 none: no subflow contains itself.
      if (one.home === 'S1') return { ...base, type: 'junction' };
      return { ...base, type: one.home === 'S0' || one.flag ? 'subflow:S1' : 'subflow:S0' };
    default:
      return base;
  }
}

/** Flows with a source `W` and every kind of edge, small enough for the naive walk. */
export const flow = fc
  .record({
    nodes: fc.array(drawn, { minLength: 3, maxLength: 20 }),
    source: fc.record({ home, wires: picks(4) }),
    tabOff: fc.boolean(),
    subflows: fc.tuple(subflowPorts, subflowPorts),
  })
  .map(({ nodes, source, tabOff, subflows }): FlowConfigNode[] => {
    const pick = picker(nodes);
    const isIn = (own: string, id: string) => nodes[Number(id.slice(1))]?.home === own;
    const definitions = subflows.map(({ entry, exits, straight }, index): FlowConfigNode => {
      const own = `S${index}`;
      const outs = exits.map((list) => ({
        wires: list
          .map(({ pick: picked, port }) => ({ id: pick(picked, own), port }))
          .filter(({ id }) => isIn(own, id)),
      }));
      if (straight) outs[0]?.wires.push({ id: own, port: 0 });
      const ins = entry.map((picked) => ({ id: pick(picked, own) })).filter(({ id }) => isIn(own, id));
      return { id: own, type: 'subflow', in: [{ wires: ins }], out: outs };
    });
    return [
      { id: 'T0', type: 'tab' },
      { id: 'T1', type: 'tab' },
      { id: 'T2', type: 'tab', disabled: tabOff },
      ...definitions,
      ...HOMES.flatMap((z) => [
        { id: `outer-${z}`, type: 'group', z },
        { id: `inner-${z}`, type: 'group', z, g: `outer-${z}` },
      ]),
      {
        id: 'W',
        type: 'signed-webhook',
        z: source.home,
        wires: [source.wires.map((picked) => pick(picked, source.home))],
      },
      ...nodes.map((one, index) => configOf(one, index, pick)),
    ];
  });
