import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startDestination, type Destination } from '../harness/destination';
import { startNodeRed, type FlowNode, type RunningNodeRed } from '../harness/node-red';
import { functionNode, probe, probeNodes, tab, type ProbeSink } from '../harness/probe';
import { megabytes, queue } from '../harness/queue';
import { entryOf, readStatus } from '../harness/status';
import { waitFor } from '../harness/wait';
import { callHook, webhook } from '../harness/webhook';

const FAST = { retryInitialMs: 5, retryMaxMs: 20 };
const order = { order: 1 };

/** A sender that tries again, and what a queue and a destination see of it. */
describe('the identity of a record in Node-RED', () => {
  let nodeRed: RunningNodeRed;
  let destination: Destination;
  let deploys = 0;
  let calls = 0;

  beforeAll(async () => {
    nodeRed = await startNodeRed({ nodesDir: [probeNodes] });
  });
  afterAll(() => nodeRed.stop());
  beforeEach(async () => {
    destination = await startDestination();
  });
  afterEach(() => destination.close());

  /** Queues get fresh names, so that no test finds the records of another. */
  async function deploy(...nodes: FlowNode[]): Promise<void> {
    deploys += 1;
    const named = nodes.map((node) =>
      node.type === 'push-queue' ? { ...node, queue: `${node.id}-${deploys}` } : node,
    );
    await nodeRed.deploy([tab(), probe('other'), ...named]);
    await waitFor('the sinks to take records', async () =>
      (await readStatus(nodeRed)).sinks.every((sink) => !sink['fault']),
    );
  }
  /** As a sender does: each call is signed anew, and comes with headers of its own. */
  const send = async (id: string, body: unknown = order) => {
    const headers = { 'x-call': String((calls += 1)) };
    return (await callHook(nodeRed, 'w', body, { id, headers })).status;
  };
  const hook = (wires: string[], properties = {}) => webhook('w', { wires: [wires], ...properties });
  const rest = () => ({ id: 'rest', type: 'rest-sink', z: 'tab', url: destination.url, wires: [[]] });
  const sink = async (id = 'q') => entryOf((await readStatus(nodeRed)).sinks, id);
  const drained = () => waitFor('an empty queue', async () => Number((await sink())['records']) === 0);
  /** Makes the branch beside the queue fail, or work again. */
  const other = (works: boolean) => {
    nodeRed.node<ProbeSink>('other').finish = (_msg, _send, done) =>
      done(works ? undefined : new Error('down'));
  };
  const keys = () => destination.requests.map(({ headers }) => String(headers['idempotency-key']));

  it('N1 stores a record once when its sender tries again after another branch failed', async () => {
    await deploy(hook(['q', 'other']), queue('q'));
    other(false);
    expect(await send('msg_1')).toBe(503);
    expect(await sink()).toMatchObject({ records: 1 });
    other(true);
    expect(await send('msg_1')).toBe(200);
    expect(await sink()).toMatchObject({ records: 1, delivered: 1 });
  });

  it('O1 stores the same id and body again after the window', async () => {
    await deploy(hook(['q', 'other'], { dedupeHours: 0.0001 }), queue('q'));
    other(false);
    expect(await send('msg_2')).toBe(503);
    const start = Date.now();
    await waitFor('the end of the window', () => Date.now() - start > 400);
    expect(await send('msg_2')).toBe(503);
    expect(await sink()).toMatchObject({ records: 2 });
  });

  it('O1 stores each request of a source that recognises no duplicates, in a queue behind the queue too', async () => {
    await deploy(
      hook(['f'], { dedupeHours: 0 }),
      functionNode('f', 'delete msg.headers; return msg;', [['q']]),
      queue('q', { wires: [['r'], []] }),
      queue('r'),
    );
    expect([await send('msg_3'), await send('msg_3')]).toEqual([200, 200]);
    await drained();
    expect(await sink('q')).toMatchObject({ delivered: 2, forwarded_total: 2 });
    expect(await sink('r')).toMatchObject({ records: 2 });
  });

  it('O1 stores equal bodies with different ids, and equal parts of one', async () => {
    await deploy(
      hook(['split', 'other']),
      { id: 'split', type: 'split', z: 'tab', splt: '\\n', arraySplt: 1, wires: [['f']] },
      functionNode('f', 'return { payload: "same" };', [['q']]),
      queue('q'),
    );
    expect(await send('msg_4', [1, 2, 1])).toBe(200);
    expect(await send('msg_5', [1, 2, 1])).toBe(200);
    expect(await sink()).toMatchObject({ records: 6 });
    other(false);
    expect(await send('msg_6', [1, 2, 1])).toBe(503);
    other(true);
    expect(await send('msg_6', [1, 2, 1])).toBe(200);
    expect(await sink()).toMatchObject({ records: 9 });
  });

  it('N1 stores a record once that its own inbox runs again', async () => {
    await deploy(
      hook(['q', 'other'], { respond: 'on_receipt', inboxRetries: 3, dedupeHours: 0 }),
      queue('q'),
    );
    other(false);
    expect(await send('msg_7')).toBe(200);
    await waitFor('the second try', () => nodeRed.node<ProbeSink>('other').received.length === 2);
    other(true);
    await waitFor('the third', () => nodeRed.node<ProbeSink>('other').received.length === 3);
    expect(await sink()).toMatchObject({ records: 1 });
    expect(await send('msg_7')).toBe(200);
    await waitFor('another record', async () => (await sink())['records'] === 2);
  });

  it('O1 stores a record again that the queue gave up or evicted meanwhile', async () => {
    await deploy(hook(['q', 'other']), queue('q', { wires: [['rest'], []], ...FAST }), rest());
    other(false);
    destination.answer(() => ({ status: 400 }));
    expect(await send('msg_8')).toBe(503);
    await waitFor('the dead letter', async () => (await sink())['dead'] === 1);
    destination.answer(() => ({}));
    other(true);
    expect(await send('msg_8')).toBe(200);
    await drained();
    expect(await sink()).toMatchObject({ forwarded_total: 1, dead: 1 });

    await deploy(hook(['q', 'other']), queue('q', { onFull: 'evict_oldest', maxQuotaMb: megabytes(100) }));
    other(false);
    expect(await send('msg_9')).toBe(503);
    other(true);
    expect(await send('msg_10')).toBe(200);
    expect(await sink()).toMatchObject({ records: 1, evicted_total: 1 });
    expect(await send('msg_9')).toBe(200);
    expect(await sink()).toMatchObject({ records: 1, evicted_total: 2, delivered: 3 });
  });

  it('N1 gives each delivery one Idempotency-Key, over deliveries and what a sender sends again', async () => {
    await deploy(
      hook(['f', 'other']),
      // Another message each time, so that the queue keeps each.
      functionNode('f', 'msg.at = Math.random(); return msg;', [['q']]),
      queue('q', { wires: [['rest'], []], ...FAST }),
      rest(),
    );
    destination.answer(() => ({ status: destination.requests.length < 3 ? 503 : 200 }));
    other(false);
    expect(await send('msg_11')).toBe(503);
    other(true);
    expect(await send('msg_11')).toBe(200);
    await drained();
    expect(await sink()).toMatchObject({ forwarded_total: 2 });
    expect(destination.requests.length).toBeGreaterThanOrEqual(4);
    expect(new Set(keys()).size).toBe(1);
    expect(await send('msg_12')).toBe(200);
    await drained();
    expect(new Set(keys()).size).toBe(2);
  });

  it('N1 gives equal parts behind a queue keys of their own, the same when their sender tries again', async () => {
    await deploy(
      hook(['split', 'other']),
      { id: 'split', type: 'split', z: 'tab', splt: '\\n', arraySplt: 1, wires: [['q']] },
      queue('q', { wires: [['f'], []], ...FAST }),
      functionNode('f', 'msg.payload = { all: "alike" }; return msg;', [['rest']]),
      rest(),
    );
    other(false);
    expect(await send('msg_13', [1, 1, 2])).toBe(503);
    await waitFor('three deliveries', async () => (await sink())['forwarded_total'] === 3);
    expect(new Set(keys()).size).toBe(3);
    other(true);
    expect(await send('msg_13', [1, 1, 2])).toBe(200);
    await drained();
    expect(new Set(keys()).size).toBe(3);
  });

  it('N1 tells the deliveries of a record through two queues apart', async () => {
    await deploy(
      hook(['q', 'r']),
      queue('q', { wires: [['rest'], []] }),
      queue('r', { wires: [['rest'], []] }),
      rest(),
    );
    expect(await send('msg_14')).toBe(200);
    await waitFor('both', () => destination.requests.length === 2);
    expect(new Set(keys()).size).toBe(2);
  });
});
