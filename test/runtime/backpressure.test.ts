import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeRecord } from '#lib/queue/record-format';
import { post } from '../harness/http';
import { startNodeRed, type FlowNode, type RunningNodeRed } from '../harness/node-red';
import {
  functionNode,
  probe,
  probeNodes,
  stuck,
  tab,
  type ProbeSink,
  type ProbeStuck,
} from '../harness/probe';
import { megabytes, queue } from '../harness/queue';
import { entryOf, readStatus } from '../harness/status';
import { waitFor } from '../harness/wait';
import { callHook, webhook } from '../harness/webhook';

/** Larger than the quota below: the first record fills the queue, the next one is refused. */
const SMALL = { maxQuotaMb: megabytes(100) };
const order = { order: 1 };

describe('backpressure over HTTP in Node-RED', () => {
  let nodeRed: RunningNodeRed;
  let deploys = 0;

  /** Queues get fresh names, so that no test finds the records of another. */
  async function deploy(nodes: FlowNode[]): Promise<void> {
    deploys += 1;
    const named = nodes.map((node) =>
      node.type === 'push-queue' ? { ...node, queue: `${String(node['queue'])}-${deploys}` } : node,
    );
    await nodeRed.deploy([tab(), ...named]);
    await waitFor('the sinks to take records', async () => {
      const { sinks } = await readStatus(nodeRed);
      return sinks.every((sink) => sink['fault'] === null);
    });
  }
  const sinkStatus = async (id: string) => entryOf((await readStatus(nodeRed)).sinks, id);
  const sourceStatus = async (id: string) => entryOf((await readStatus(nodeRed)).sources, id);

  beforeAll(async () => {
    nodeRed = await startNodeRed({ nodesDir: [probeNodes] });
  });
  afterAll(() => nodeRed.stop());

  it('BP-01 O21 O22 O23 refuses at a full block queue with exactly the documented answer, before any node runs', async () => {
    await deploy([
      webhook('w', { wires: [['f']] }),
      functionNode('f', 'global.set("runs", (global.get("runs") || 0) + 1); return msg;', [['push', 'seen']]),
      probe('seen'),
      queue('push', { ...SMALL, name: 'push' }),
    ]);
    expect((await callHook(nodeRed, 'w', order)).status).toBe(200);
    const before = nodeRed.node<ProbeSink>('seen').received.length;

    const answer = await callHook(nodeRed, 'w', order);

    expect(answer.status).toBe(503);
    const retryAfter = Number(answer.headers['retry-after']);
    expect(retryAfter).toBeGreaterThanOrEqual(1);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.text).toBe(`{"ok":false,"result":"retry","sink":"push","retry_after_secs":${retryAfter}}`);
    expect(nodeRed.node<ProbeSink>('seen').received.length).toBe(before);
    expect(await sourceStatus('w')).toMatchObject({ backpressured: 1 });
    expect((await readStatus(nodeRed)).engine.webhooks).toEqual([
      expect.objectContaining({ backpressured: 1 }),
    ]);
    expect(await sinkStatus('push')).toMatchObject({ blocked: 1, dropped: 0 });
  });

  it('O20 checks the signature first: a wrong one gets 401 while the queue is full', async () => {
    await deploy([webhook('w', { wires: [['push']] }), queue('push', SMALL)]);
    await callHook(nodeRed, 'w', order);
    const wrong = 'whsec_d3JvbmctdGVzdC1zZWNyZXQtb2YtMzItYnl0ZXMhISE=';
    expect((await callHook(nodeRed, 'w', order, { secret: wrong })).status).toBe(401);
    expect((await callHook(nodeRed, 'w', order)).status).toBe(503);
  });

  it('BP-03 O17 O18 accepts when the full queue is not reachable from this webhook', async () => {
    await deploy([
      webhook('w', { wires: [['f']] }),
      functionNode('f', 'return msg;', [['store']]),
      queue('store'),
      webhook('w2', { wires: [['push']] }),
      queue('push', SMALL),
    ]);
    await callHook(nodeRed, 'w2', order);
    expect((await callHook(nodeRed, 'w2', order)).status).toBe(503);
    expect((await callHook(nodeRed, 'w', order)).status).toBe(200);
  });

  it('O19 a subflow on the way makes the check conservative: every sink of the flow counts', async () => {
    const subflow: FlowNode[] = [
      {
        id: 'sf',
        type: 'subflow',
        name: 'pass',
        in: [{ wires: [{ id: 'sf-f' }] }],
        out: [{ wires: [{ id: 'sf-f', port: 0 }] }],
      },
      functionNode('sf-f', 'return msg;', [[]], 'sf'),
      { id: 'call', type: 'subflow:sf', z: 'tab', wires: [['store']] },
    ];
    await deploy([
      webhook('w', { wires: [['call']] }),
      ...subflow,
      queue('store'),
      webhook('w2', { wires: [['push']] }),
      queue('push', { ...SMALL, name: 'telemetry' }),
    ]);
    expect((await callHook(nodeRed, 'w', order)).status).toBe(200);
    await callHook(nodeRed, 'w2', order);
    const answer = await callHook(nodeRed, 'w', order);
    expect(answer.status).toBe(503);
    expect(answer.json()).toMatchObject({ sink: 'telemetry' });
  });

  it('BP-05 stores nothing in the one queue when the other reachable one is full', async () => {
    await deploy([
      webhook('w', { wires: [['open', 'closed']] }),
      queue('open', { name: 'open' }),
      queue('closed', { ...SMALL, name: 'closed' }),
      webhook('filler', { wires: [['closed']] }),
    ]);
    await callHook(nodeRed, 'filler', order);
    const answer = await callHook(nodeRed, 'w', order);
    expect(answer.status).toBe(503);
    expect(answer.json()).toMatchObject({ sink: 'closed' });
    expect(await sinkStatus('open')).toMatchObject({ records: 0 });
  });

  it('BP-07 O13 O68 accepts exactly what fits of a burst, and overshoots by nothing', async () => {
    await deploy([webhook('w', { wires: [['push']] }), queue('push')]);
    await callHook(nodeRed, 'w', order);
    const { quota_bytes: _, bytes: recordBytes } = await sinkStatus('push');
    const quotaBytes = Number(recordBytes) * 10;
    await deploy([webhook('w', { wires: [['push']] }), queue('push', { maxQuotaMb: megabytes(quotaBytes) })]);

    const answers = await Promise.all(Array.from({ length: 500 }, () => callHook(nodeRed, 'w', order)));

    const count = (status: number) => answers.filter((answer) => answer.status === status).length;
    const stored = await sinkStatus('push');
    expect(count(200) + count(503)).toBe(500);
    expect(stored['records']).toBe(count(200));
    expect(Number(stored['bytes'])).toBeLessThanOrEqual(quotaBytes);
    // Ids of another length make records a byte or two larger or smaller than the one that was measured.
    expect(count(200)).toBeGreaterThanOrEqual(9);
    expect(count(200)).toBeLessThanOrEqual(10);
  });

  it('BP-09 O14 admits a record larger than the quota into an empty queue, and refuses the next', async () => {
    await deploy([webhook('w', { wires: [['push']] }), queue('push', { maxQuotaMb: megabytes(1000) })]);
    expect((await callHook(nodeRed, 'w', { text: 'x'.repeat(5000) })).status).toBe(200);
    expect(Number((await sinkStatus('push'))['fill_pct'])).toBeGreaterThanOrEqual(500);
    expect((await callHook(nodeRed, 'w', {})).status).toBe(503);
  });

  it('BP-11 counts bytes of UTF-8, not characters', () => {
    const plain = encodeRecord({ payload: 'e'.repeat(400) });
    const accented = encodeRecord({ payload: 'é'.repeat(400) });
    expect(accented.byteLength - plain.byteLength).toBe(400);
  });

  it('BP-15 answers 503 once when the flow never finishes, and survives its late completion', async () => {
    await deploy([webhook('w', { doneTimeoutSecs: 0.3, wires: [['stuck']] }), stuck('stuck')]);
    const answer = await callHook(nodeRed, 'w', order, { id: 'msg_late' });
    expect(answer.status).toBe(503);
    expect(answer.json()).toMatchObject({ sink: 'flow', retry_after_secs: 5 });

    const retry = callHook(nodeRed, 'w', order, { id: 'msg_late' });
    const { stuck: waiting } = nodeRed.node<ProbeStuck>('stuck');
    waiting.forEach((done) => done());
    expect((await retry).status).toBe(200);
    expect(waiting).toHaveLength(1);
  });

  it('maxInFlight bounds the records on their way, then 503', async () => {
    await deploy([webhook('w', { maxInFlight: 2, wires: [['stuck']] }), stuck('stuck')]);
    const first = [callHook(nodeRed, 'w', order), callHook(nodeRed, 'w', order)];
    const held = nodeRed.node<ProbeStuck>('stuck').stuck;
    await waitFor('two records in the flow', () => held.length === 2);
    expect((await callHook(nodeRed, 'w', order)).json()).toMatchObject({ result: 'retry', sink: 'flow' });
    held.forEach((done) => done());
    expect((await Promise.all(first)).map(({ status }) => status)).toEqual([200, 200]);
  });

  describe('the bytes of records on their way are bounded, also where large bodies are allowed', () => {
    const body = Buffer.alloc(10 * 2 ** 20, 'x');
    const large = (respond: string) =>
      webhook('w', { respond, maxBodyKb: 10_240, codec: 'text', dedupeHours: 0, wires: [['stuck']] });
    const stuckRecords = () => nodeRed.node<ProbeStuck>('stuck').stuck;

    it('on_done refuses the others', async () => {
      await deploy([large('on_done'), stuck('stuck')]);
      const calls = Array.from({ length: 5 }, () => callHook(nodeRed, 'w', body));
      await waitFor('the refusals', async () => {
        const { backpressured } = entryOf((await readStatus(nodeRed)).sources, 'w');
        return backpressured === 2;
      });
      expect(stuckRecords()).toHaveLength(3);
      stuckRecords().forEach((done) => done());
      const statuses = (await Promise.all(calls)).map(({ status }) => status);
      expect(statuses.sort()).toEqual([200, 200, 200, 503, 503]);
    });

    it('N8 on_receipt keeps the others in the inbox', async () => {
      await deploy([large('on_receipt'), stuck('stuck')]);
      for (let count = 0; count < 5; count += 1) {
        expect((await callHook(nodeRed, 'w', body)).status).toBe(200);
      }
      const held = stuckRecords();
      expect(held).toHaveLength(3);
      let handled = 0;
      await waitFor('all of them', () => {
        for (const done of held.splice(0)) {
          done();
          handled += 1;
        }
        return handled === 5;
      });
    });
  });

  it('BP-17 O24 stores nothing of a list that does not fit, and each of its records once on the retry', async () => {
    const list = Array.from({ length: 10 }, (_, index) => ({ reading: index, text: 'x'.repeat(100) }));
    const ingest: FlowNode = {
      id: 'api',
      type: 'ingest-api',
      z: 'tab',
      source: 'bp17',
      credentials: { token: 'bp17' },
      wires: [['push']],
    };
    const call = (id: string, body: unknown) =>
      post(`${nodeRed.url}/api/ingest/bp17/${id}`, JSON.stringify(body), {
        headers: { authorization: 'Bearer bp17', 'content-type': 'application/json' },
      });
    const roomForFour = { maxQuotaMb: megabytes(1000) };
    await deploy([ingest, queue('push', roomForFour)]);
    expect((await call('first', {})).status).toBe(200);
    expect((await call('list', list)).status).toBe(503);
    expect(await sinkStatus('push')).toMatchObject({ records: 1 });

    await deploy([ingest, queue('push')]);
    expect((await call('list', list)).status).toBe(200);
    expect(await sinkStatus('push')).toMatchObject({ records: 1 });
  });

  it('O81 a websocket on the way is a live view, never a reason to refuse', async () => {
    await deploy([
      webhook('w', { wires: [['push', 'ws']] }),
      queue('push'),
      { id: 'listener', type: 'websocket-listener', path: '/live', wholemsg: 'false' },
      { id: 'ws', type: 'websocket out', z: 'tab', server: 'listener', client: '', wires: [] },
    ]);
    const reach = (await (await fetch(`${nodeRed.url}/sluice/api/reach/w`)).json()) as { sinks: string[] };
    expect(reach.sinks).toEqual(['push']);
    expect((await callHook(nodeRed, 'w', order)).status).toBe(200);
  });

  it('a sink whose node failed to start refuses by name', async () => {
    await nodeRed.deploy([
      tab(),
      webhook('w', { wires: [['push']] }),
      queue('push', { name: 'orders', maxQuotaMb: 0 }),
    ]);
    await waitFor('a refusal by the sink', async () => {
      const answer = await callHook(nodeRed, 'w', order);
      return answer.status === 503 && answer.json()['sink'] === 'orders';
    });
  });

  it('O40 O41 O42 the status document has the queue twice, and lost and refused apart', async () => {
    await deploy([webhook('w', { wires: [['push']] }), queue('push', { ...SMALL, name: 'push' })]);
    await callHook(nodeRed, 'w', order);
    await callHook(nodeRed, 'w', order);
    const status = await readStatus(nodeRed);
    const fields = { on_full: 'block', blocking: true, blocked_total: 1, evicted_total: 0, level: 'full' };
    expect(status.push_queue).toMatchObject(fields);
    expect(status.push_queue).toHaveProperty('quota_bytes');
    expect(status.push_queue).toHaveProperty('fill_pct');
    expect(status.push_status).toEqual(status.push_queue);
    expect(status.sinks).toEqual([expect.objectContaining({ dropped: 0, blocked: 1 })]);
  });
});
