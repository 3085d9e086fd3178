/**
 * What following a record costs: processor time per message through a flow, in one Node-RED, in rounds that alternate
 * between no hooks at all, nothing tracked, untracked messages beside a tracked record, and tracked ones; ratios of the
 * medians. Then the heap before and after millions of tracked messages.
 *
 * npm run bench -- lineage [messages]
 */
import { resolve } from 'node:path';
import { createLineage } from '#lib/delivery/lineage/lineage';
import type { RuntimeLineage } from '#lib/delivery/lineage/runtime-lineage';
import type { RuntimeNode } from '#lib/node-red/types';
import { lineageDepsOf } from '../test/harness/lineage-nodes/lineage-deps';
import { startNodeRed, type FlowNode, type RunningNodeRed } from '../test/harness/node-red';

const MESSAGES = 30_000;
const IN_FLIGHT = 256;
const ROUNDS = 12;
const LINGER_MS = 100;
/** Tracked messages for the heap's growth. */
const SOAK = Number(process.argv[2] ?? 2_000_000);

const rig = { lineage: undefined as unknown, counted: 0 };
Object.assign(globalThis, { [Symbol.for('sluice.test.lineage')]: rig });

const chain = (z: string, nodes: readonly (readonly [id: string, type: string, properties?: object])[]) => [
  { id: z, type: 'tab', label: z },
  ...nodes.map(([id, type, properties], index): FlowNode => {
    const next = nodes[index + 1];
    return { id: `${z}.${id}`, type, z, x: 1, y: 1, wires: next ? [[`${z}.${next[0]}`]] : [], ...properties };
  }),
];
const set = (p: string) => ({ rules: [{ t: 'set', p, pt: 'msg', to: '1', tot: 'str' }] });
const func = {
  func: 'msg.b = 2; return msg',
  outputs: 1,
  timeout: 0,
  initialize: '',
  finalize: '',
  libs: [],
};
const json = { property: 'payload', action: 'obj', pretty: false };
const HOPS = chain('hops', [
  ['src', 't-source'],
  ['c1', 'change', set('a')],
  ['j', 'json', json],
  ['f', 'function', func],
  ['c2', 'change', { rules: [{ t: 'delete', p: 'a', pt: 'msg' }] }],
  ['sink', 't-count'],
]);
/** A record that comes here never ends, and keeps the hooks in place. */
const HELD = chain('held', [
  ['src', 't-source'],
  ['never', 't-never'],
]);

type Emit = (count: number) => void;

/** Microseconds of processor time per message with IN_FLIGHT messages on their way: neighbours don't count. */
async function timePerMessage(emit: Emit, messages = MESSAGES): Promise<number> {
  // After a rest the first messages are slower, whatever is measured: all modes begin with one.
  await new Promise((resolve) => setTimeout(resolve, 2 * LINGER_MS));
  const base = rig.counted;
  let sent = 0;
  const start = process.cpuUsage();
  while (rig.counted - base < messages) {
    while (sent < messages && sent - (rig.counted - base) < IN_FLIGHT) emit(sent++);
    await new Promise(setImmediate);
  }
  const { user, system } = process.cpuUsage(start);
  return (user + system) / messages;
}

function heapMb(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;

interface Mode {
  readonly name: string;
  /** Largest share of the time without hooks that is allowed. */
  readonly bound: number | undefined;
  measure(): Promise<number>;
}

function modesOf(nodeRed: RunningNodeRed, lineage: RuntimeLineage): Mode[] {
  const { RED } = nodeRed;
  const source = nodeRed.node('hops.src');
  const untracked: Emit = () => source.send({ _msgid: RED.util.generateId(), payload: '{"x":1}' });
  const tracked: Emit = () => track(lineage, source);
  const installed = async (measure: () => Promise<number>) => {
    lineage.install();
    const us = await measure();
    lineage.uninstall();
    return us;
  };
  return [
    { name: 'no hooks at all', bound: undefined, measure: () => timePerMessage(untracked) },
    {
      name: 'nothing tracked',
      bound: 1.05,
      measure: () =>
        installed(async () => {
          tracked(0);
          await resting(lineage);
          return timePerMessage(untracked);
        }),
    },
    {
      name: 'untracked beside tracked',
      bound: 1.4,
      measure: () =>
        installed(() => {
          track(lineage, nodeRed.node('held.src'), 0);
          return timePerMessage(untracked);
        }),
    },
    { name: 'tracked', bound: 3, measure: () => installed(() => timePerMessage(tracked)) },
  ];
}

function track(lineage: RuntimeLineage, source: RuntimeNode, timeoutMs = 25_000): void {
  const stamp = { id: 'bench', source: 'bench', receivedAt: 0, attempt: 1 };
  void lineage.send(source, { payload: '{"x":1}' }, { stamp, origin: 'bench', timeoutMs });
}

async function resting(lineage: RuntimeLineage): Promise<void> {
  while (lineage.active > 0 || lineage.census().hooked)
    await new Promise((resolve) => setTimeout(resolve, 20));
}

async function compare(modes: readonly Mode[]): Promise<void> {
  const times = new Map(modes.map((mode) => [mode, [] as number[]]));
  // The order rotates, so that no mode always clears away what the same other one left behind.
  for (let round = -1; round < ROUNDS; round++) {
    for (const index of modes.keys()) {
      const mode = modes[(index + round + 1) % modes.length] as Mode;
      const us = await mode.measure();
      if (round >= 0) times.get(mode)?.push(us);
    }
  }
  const [bare] = modes.map((mode) => median(times.get(mode) ?? []));
  for (const [{ name, bound }, values] of times) {
    const us = median(values);
    const target = bound === undefined ? '' : `   <= ${bound}`;
    const ratio = (us / (bare ?? us)).toFixed(2);
    console.log(`five hops, ${name.padEnd(25)} ${us.toFixed(1).padStart(6)} us  x${ratio}${target}`);
  }
}

async function growth(lineage: RuntimeLineage, source: RuntimeNode): Promise<void> {
  lineage.install();
  await timePerMessage(() => track(lineage, source), 100_000);
  await resting(lineage);
  const before = heapMb();
  await timePerMessage(() => track(lineage, source), SOAK);
  await resting(lineage);
  const grown = (heapMb() - before).toFixed(1);
  console.log(`heap after ${SOAK} tracked messages: ${grown} MB more than before   < 10`);
  lineage.uninstall();
}

const nodeRed = await startNodeRed({ nodesDir: [resolve('test/harness/lineage-nodes')] });
await nodeRed.deploy([...HOPS, ...HELD]);
const lineage = createLineage({ ...lineageDepsOf(nodeRed.RED), lingerMs: LINGER_MS });
rig.lineage = lineage;
await compare(modesOf(nodeRed, lineage));
await growth(lineage, nodeRed.node('hops.src'));
await nodeRed.stop();
