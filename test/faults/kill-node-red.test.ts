import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startChildNodeRed, type ChildNodeRed } from '../harness/child-node-red';
import { gate, startDestination, type Destination } from '../harness/destination';
import type { FlowNode } from '../harness/node-red';
import { tab } from '../harness/probe';
import { randomFrom } from '../harness/random';
import { prepareHook, startSenders, type PreparedHook, type Senders } from '../harness/senders';
import { entryOf, readStatus } from '../harness/status';
import { waitFor } from '../harness/wait';
import { webhook } from '../harness/webhook';

const WEBHOOKS = 20_000;
const CONNECTIONS = 48;
const KILLS = 6;
/** Records of the queue that are out at once: what a kill can leave delivered and not settled. */
const MAX_IN_FLIGHT = 256;

/** What arrived at the destination: how often each record, and under which idempotency keys. */
function arrivalsAt(destination: Destination) {
  const arrivals = new Map<string, number>();
  const keys = new Set<unknown>();
  for (const { text, headers } of destination.requests) {
    const { record } = JSON.parse(text) as { record: string };
    arrivals.set(record, (arrivals.get(record) ?? 0) + 1);
    keys.add(headers['idempotency-key']);
  }
  return { arrivals, keys };
}

describe('a Node-RED that is killed', () => {
  let destination: Destination;
  let child: ChildNodeRed | undefined;
  let senders: Senders | undefined;

  const rest = (properties: Record<string, unknown>): FlowNode => ({
    id: 'rest',
    type: 'rest-sink',
    z: 'tab',
    url: `${destination.url.replace('localhost', '127.0.0.1')}/records`,
    wires: [[]],
    ...properties,
  });
  const hooks = (count: number): PreparedHook[] =>
    Array.from({ length: count }, (_, index) => {
      const record = `record-${index}`;
      return prepareHook('orders', record, { record, filler: 'x'.repeat(200 + (index % 800)) });
    });
  /** Ends the process between any two of its instructions and starts it again over the same files. */
  const killAndRestart = async ({ kill, userDir, port }: ChildNodeRed) => {
    await kill();
    child = await startChildNodeRed({ userDir, port });
    return child;
  };

  beforeEach(async () => {
    destination = await startDestination();
  });
  afterEach(async () => {
    senders?.stop();
    await senders?.finished.catch(() => undefined);
    await child?.remove();
    await destination.close();
    child = senders = undefined;
  });

  it('O1 N13 delivers every one of 20,000 webhooks that it accepted, killed again and again at random moments', async () => {
    const { seed, random } = randomFrom(process.env['SLUICE_TEST_SEED']);
    const flows = [
      tab(),
      webhook('orders', { toleranceSecs: 86_400, wires: [['queue']] }),
      { id: 'queue', type: 'push-queue', z: 'tab', queue: 'orders', onFull: 'block', wires: [['rest'], []] },
      rest({ concurrency: 32 }),
    ];
    let running = (child = await startChildNodeRed({ flows }));
    let killAt = Infinity;
    let moment = () => {};
    senders = startSenders(running.port, CONNECTIONS, hooks(WEBHOOKS), (count) => {
      if (count === killAt) moment();
    });
    const { finished, accepted } = senders;
    for (let kill = 0; kill < KILLS; kill += 1) {
      const reached = new Promise<void>((resolve) => (moment = resolve));
      killAt = accepted.size + 100 + Math.floor(random() * 3000);
      await Promise.race([reached, finished]);
      running = await killAndRestart(running);
    }
    await finished;
    const arrived = () => new Set(destination.requests.map(({ text }) => text)).size;
    await waitFor(`every record at the destination (seed ${seed})`, () => arrived() >= WEBHOOKS, 60_000);
    const status = await readStatus(running);
    await waitFor('the queue to be empty', async () => {
      const { records } = entryOf((await readStatus(running)).sinks, 'queue');
      return records === 0;
    });

    const { arrivals, keys } = arrivalsAt(destination);
    const lost = [...accepted].filter((record) => !arrivals.has(record));
    const duplicates = destination.requests.length - arrivals.size;
    console.log(
      `seed ${seed}: ${accepted.size} accepted, ${senders.repeats} sent again, ${KILLS} kills, ${duplicates} delivered twice, ${lost.length} lost`,
    );
    expect(accepted.size).toBe(WEBHOOKS);
    expect(lost).toEqual([]);
    expect(duplicates).toBeLessThanOrEqual(KILLS * MAX_IN_FLIGHT);
    // A destination that deduplicates by the key sees each record once.
    expect(keys.size).toBe(WEBHOOKS);
    expect(entryOf(status.sinks, 'queue')).toMatchObject({ dead: 0, dropped: 0 });
  }, 150_000);

  it('N8 O33 runs again at boot what it answered with 200 before the flow was done', async () => {
    const count = 500;
    const receipt = { respond: 'on_receipt', toleranceSecs: 86_400, wires: [['rest']] };
    const flows = [tab(), webhook('orders', receipt), rest({ concurrency: 64 })];
    let running = (child = await startChildNodeRed({ flows }));
    const source = async () => entryOf((await readStatus(running)).sources, 'orders');
    const held = gate();
    destination.answer(() => ({ after: held.opened }));
    senders = startSenders(running.port, CONNECTIONS, hooks(count));
    await senders.finished;
    expect(await source()).toMatchObject({ inbox_pending: count });
    for (let kill = 0; kill < 2; kill += 1) {
      running = await killAndRestart(running);
      const before = destination.requests.length;
      await waitFor('records that run again', () => destination.requests.length > before);
    }
    destination.answer(() => ({}));
    held.open();
    await waitFor('an empty inbox', async () => (await source())['inbox_pending'] === 0, 30_000);

    const { arrivals } = arrivalsAt(destination);
    expect([...senders.accepted].filter((record) => !arrivals.has(record))).toEqual([]);
    expect(await source()).toMatchObject({ inbox_not_handled: 0 });
  }, 60_000);
});
