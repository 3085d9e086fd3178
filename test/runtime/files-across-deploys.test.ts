import { createRequire } from 'node:module';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Worker } from 'node:worker_threads';
import { runtimeOf } from '#lib/node-red/runtime';
import { openSqliteStore } from '#lib/queue/sqlite-store';
import { startNodeRed, type DeployType, type FlowNode, type RunningNodeRed } from '../harness/node-red';
import { probe, probeNodes, tab, type ProbeSink } from '../harness/probe';
import { queue } from '../harness/queue';
import { entryOf, readStatus } from '../harness/status';
import { waitFor } from '../harness/wait';
import { callHook, webhook } from '../harness/webhook';

/** Each open file has a thread of its own. */
const threads = { live: 0, started: 0 };
const workerThreads = createRequire(import.meta.url)('node:worker_threads') as { Worker: typeof Worker };
workerThreads.Worker = class extends workerThreads.Worker {
  constructor(...args: ConstructorParameters<typeof Worker>) {
    super(...args);
    threads.live += 1;
    threads.started += 1;
    this.once('exit', () => (threads.live -= 1));
  }
};

let nodeRed: RunningNodeRed;
beforeAll(async () => {
  nodeRed = await startNodeRed({ nodesDir: [probeNodes] });
});

/** Each deploy has another name for each node, so that all are replaced. */
const flow = (deploy: number, queues = ['a']): FlowNode[] => [
  tab(),
  webhook('in', { name: `in${deploy}`, respond: 'on_receipt', wires: [queues] }),
  ...queues.map((name) => queue(name, { name: `${name}${deploy}`, queue: name, wires: [['out'], []] })),
  { ...probe('out'), name: String(deploy) },
];

describe('the files of queues and of the inbox across deploys', () => {
  afterAll(() => nodeRed.stop());

  it('N13 stay open for the nodes that a deploy puts in the place of others', async () => {
    await nodeRed.deploy(flow(0));
    await waitFor('the files', async () => (await callHook(nodeRed, 'in', { n: 0 })).status === 200);
    expect(threads).toEqual({ live: 2, started: 2 });
    for (const [index, type] of (['full', 'flows', 'nodes'] as const satisfies DeployType[]).entries()) {
      await nodeRed.deploy(flow(index + 1), type);
      expect((await callHook(nodeRed, 'in', { n: index + 1 })).status).toBe(200);
      await waitFor('the record', () => nodeRed.node<ProbeSink>('out').received.length > 0);
    }
    expect(threads).toEqual({ live: 2, started: 2 });
  });

  it('N13 are closed once a deploy has left no node that wants them', async () => {
    await nodeRed.deploy(flow(10, ['a', 'b']));
    await waitFor('a third thread', () => threads.live === 3);
    // Removed, and renamed: the one is closed at once, the other when it is known that nobody has that name.
    await nodeRed.deploy([
      ...flow(11).filter(({ id }) => id !== 'a'),
      queue('a', { name: 'a', queue: 'renamed', wires: [['out'], []] }),
    ]);
    await waitFor('their threads to end', () => threads.live === 2);
    for (const name of ['a', 'b']) {
      const file = join(nodeRed.userDir, 'sluice', `${name}_queue.db`);
      await (await openSqliteStore({ file, lockWaitMs: 0 })).close();
    }
  });

  it('O63 count what a queue without a file held when a deploy renames it', async () => {
    const volatile = (name: string) =>
      queue('v', { name: 'volatile', queue: name, enabled: false, onFull: 'evict_oldest' });
    await nodeRed.deploy([...flow(11), volatile('before')]);
    const status = async () => entryOf((await readStatus(nodeRed)).sinks, 'v');
    await waitFor('the queue', async () => (await status())['state'] === 'open');
    nodeRed.node('v').receive({ payload: 1 });
    nodeRed.node('v').receive({ payload: 2 });
    await waitFor('both records', async () => (await status())['records'] === 2);
    await nodeRed.deploy([...flow(11), volatile('after')]);
    const lost = 'sluice_records_dropped_total{place="volatile",reason="queue_off"} 2';
    await waitFor('the loss', async () => (await runtimeOf(nodeRed.RED).metrics.render()).includes(lost));
  });

  it('N13 are all closed when Node-RED stops', async () => {
    await nodeRed.deploy(flow(12));
    await waitFor('the files', () => threads.live === 2);
    const { RED } = nodeRed as unknown as { RED: { stop(): Promise<void> } };
    await RED.stop();
    expect(threads.live).toBe(0);
  });
});
