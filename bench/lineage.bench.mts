/**
 * What following a record costs: time per message through a flow, tracked and untracked, in one Node-RED, in rounds
 * that alternate. Ratios are against the same flow with no hooks installed; medians of the rounds.
 */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createLineage } from '#lib/delivery/lineage/lineage';
import type { RuntimeNode } from '#lib/node-red/types';
import { lineageDepsOf } from '../test/harness/lineage-nodes/lineage-deps';
import { startNodeRed, type FlowNode } from '../test/harness/node-red';

const MESSAGES = 20_000;
const IN_FLIGHT = 256;
const ROUNDS = 7;
const LINGER_MS = 100;
/** Tracked messages for the heap's growth. */
const SOAK = Number(process.argv[2] ?? 200_000);

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
const FLOWS: Record<string, FlowNode[]> = {
  direct: chain('direct', [
    ['src', 't-source'],
    ['sink', 't-count'],
  ]),
  'five hops': chain('hops', [
    ['src', 't-source'],
    ['c1', 'change', set('a')],
    ['j', 'json', json],
    ['f', 'function', func],
    ['c2', 'change', { rules: [{ t: 'delete', p: 'a', pt: 'msg' }] }],
    ['sink', 't-count'],
  ]),
};

type Emit = (count: number) => void;

/** Microseconds per message with IN_FLIGHT messages on their way. */
async function timePerMessage(emit: Emit, messages = MESSAGES): Promise<number> {
  const base = rig.counted;
  let sent = 0;
  const start = process.hrtime.bigint();
  while (rig.counted - base < messages) {
    while (sent < messages && sent - (rig.counted - base) < IN_FLIGHT) emit(sent++);
    await new Promise(setImmediate);
  }
  return Number(process.hrtime.bigint() - start) / 1000 / messages;
}

function heapMb(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;

export async function run(): Promise<void> {
  const nodesDir = [resolve('test/harness/lineage-nodes')];
  const nodeRed = await startNodeRed({ nodesDir });
  await nodeRed.deploy(Object.values(FLOWS).flat());
  const { RED } = nodeRed;
  const lineage = createLineage({ ...lineageDepsOf(RED), lingerMs: LINGER_MS });
  rig.lineage = lineage;
  lineage.install();
  const stamp = { id: 'bench', source: 'bench', receivedAt: 0, attempt: 1 };
  const track = (source: RuntimeNode) =>
    lineage.send(source, { payload: '{"x":1}' }, { stamp, origin: 'bench', timeoutMs: 25_000 });
  const resting = async () => {
    while (lineage.census().hooked) await new Promise((resolve) => setTimeout(resolve, 20));
  };

  for (const name of Object.keys(FLOWS)) {
    const z = FLOWS[name]?.[0]?.id ?? '';
    const source = nodeRed.node(`${z}.src`);
    const untracked: Emit = () => source.send({ _msgid: RED.util.generateId(), payload: '{"x":1}' });
    const times = {
      'no hooks': [] as number[],
      'untracked beside tracked': [] as number[],
      tracked: [] as number[],
    };
    for (let round = -1; round < ROUNDS; round++) {
      await resting();
      const bare = await timePerMessage(untracked);
      const followed = await timePerMessage(() => void track(source));
      void track(source);
      const beside = await timePerMessage(untracked);
      if (round < 0) continue;
      times['no hooks'].push(bare);
      times.tracked.push(followed);
      times['untracked beside tracked'].push(beside);
    }
    const bare = median(times['no hooks']);
    for (const [mode, values] of Object.entries(times)) {
      const us = median(values);
      console.log(
        `${name.padEnd(10)} ${mode.padEnd(26)} ${us.toFixed(1).padStart(6)} us  x${(us / bare).toFixed(2)}`,
      );
    }
  }
  const source = nodeRed.node('hops.src');
  const before = heapMb();
  await timePerMessage(() => void track(source), SOAK);
  await resting();
  console.log(`heap after ${SOAK} tracked messages: ${(heapMb() - before).toFixed(1)} MB more than before`);
  lineage.uninstall();
  await nodeRed.stop();
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await run();
