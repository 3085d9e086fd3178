import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startChildNodeRed, type ChildNodeRed } from '../harness/child-node-red';
import { startDestination, type Destination } from '../harness/destination';
import type { DeployType, FlowNode } from '../harness/node-red';
import { functionNode, tab } from '../harness/probe';
import { prepareHook, startSenders } from '../harness/senders';
import { entryOf, readStatus } from '../harness/status';
import { waitFor } from '../harness/wait';
import { callHook, webhook } from '../harness/webhook';

const DEPLOYS = 33;
/** Each deploy meets senders that have been served since the one before. */
const ACCEPTED_EACH = 10;
const TYPES: readonly DeployType[] = ['full', 'flows', 'nodes'];
const MAX_IN_FLIGHT = 64;

/** Threads and open files of a process. */
function resourcesOf({ pid }: ChildNodeRed) {
  const threads = Number(/Threads:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  return { threads, files: readdirSync(`/proc/${pid}/fd`).length };
}

describe('deploys under load', () => {
  let destination: Destination;
  let child: ChildNodeRed;

  /** Each version changes each node, so that `nodes` replaces them all. */
  const flowsOf = (version: number, respond: string): FlowNode[] => [
    tab(),
    {
      ...webhook('orders', { respond, maxInFlight: 200, toleranceSecs: 86_400, wires: [['f']] }),
      credentials: undefined,
      info: `version ${version}`,
    } as unknown as FlowNode,
    functionNode('f', `msg.version = ${version}; return msg;`, [['queue']]),
    {
      id: 'queue',
      type: 'push-queue',
      z: 'tab',
      queue: 'orders',
      onFull: 'block',
      maxInFlight: MAX_IN_FLIGHT,
      retryInitialMs: 50,
      retryMaxMs: 200 + version,
      wires: [['rest'], []],
    },
    { id: 'rest', type: 'rest-sink', z: 'tab', url: destination.url, timeoutMs: 5000 + version, wires: [[]] },
  ];
  const deploy = async (flows: readonly FlowNode[], type: DeployType) => {
    const placed = flows.map((node) => ('wires' in node ? { x: 100, y: 100, ...node } : node));
    const answer = await fetch(`${child.url}/flows`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'node-red-deployment-type': type },
      body: JSON.stringify(placed),
    });
    expect(answer.status).toBe(204);
  };
  const settle = async () => {
    await waitFor('records to be accepted again', async () => {
      return (await callHook(child, 'orders', { record: 'settle' })).status === 200;
    });
    await waitFor('an empty queue', async () => {
      const status = await readStatus(child);
      const inbox = entryOf(status.sources, 'orders')['inbox_pending'];
      return entryOf(status.sinks, 'queue')['records'] === 0 && inbox === 0;
    });
  };

  beforeAll(async () => {
    destination = await startDestination();
    const [first, hook, ...rest] = flowsOf(0, 'on_done');
    child = await startChildNodeRed({
      flows: [first, { ...hook, ...webhook('orders') }, ...rest] as FlowNode[],
    });
  });
  afterAll(async () => {
    await child.remove();
    await destination.close();
  });

  it.each(['on_done', 'on_receipt'])(
    `N13 %s: ${DEPLOYS} deploys of all kinds lose nothing that was accepted and leave nothing behind`,
    async (respond) => {
      await deploy(flowsOf(0, respond), 'full');
      await settle();
      const before = resourcesOf(child);
      const earlier = destination.requests.length;
      const hooks = Array.from({ length: 100_000 }, (_, index) =>
        prepareHook('orders', `${respond}-${index}`, { record: `${respond}-${index}` }),
      );
      const senders = startSenders(child.port, 4, hooks);
      const { accepted } = senders;
      for (let version = 1; version <= DEPLOYS; version += 1) {
        await deploy(flowsOf(version, respond), TYPES[version % TYPES.length] ?? 'full');
        const enough = accepted.size + ACCEPTED_EACH;
        await waitFor(`records accepted after deploy ${version}`, () => accepted.size >= enough);
      }
      senders.stop();
      await senders.finished;
      await settle();

      const arrivals = new Map<string, number>();
      for (const { text } of destination.requests.slice(earlier)) {
        const { record } = JSON.parse(text) as { record: string };
        if (record !== 'settle') arrivals.set(record, (arrivals.get(record) ?? 0) + 1);
      }
      const sent = [...arrivals.values()].reduce((sum, times) => sum + times, 0);
      const duplicates = sent - arrivals.size;
      console.log(
        `${respond}: ${accepted.size} accepted, ${senders.repeats} sent again, ${duplicates} delivered twice`,
      );
      expect([...accepted].filter((record) => !arrivals.has(record))).toEqual([]);
      expect(duplicates).toBeLessThanOrEqual(DEPLOYS * MAX_IN_FLIGHT);
      const status = await readStatus(child);
      expect(entryOf(status.sinks, 'queue')).toMatchObject({ dead: 0, dropped: 0 });
      expect(entryOf(status.sources, 'orders')).toMatchObject({ in_flight: 0, fault: null });
      // Files of keep-alive connections come and go; a worker or a database file left behind each time does not.
      await waitFor('as many threads as before', () => resourcesOf(child).threads <= before.threads);
      await waitFor('as many files as before', () => resourcesOf(child).files <= before.files + 10);
      expect(child.log()).not.toMatch(/unhandled|uncaught/i);
    },
    90_000,
  );
});
