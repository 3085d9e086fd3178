import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Message, NodeStatus } from '#lib/node-red/types';
import { startNodeRed, type DeployType, type FlowNode, type RunningNodeRed } from '../harness/node-red';
import { runtimeOf } from '#lib/node-red/runtime';
import { functionNode, probe, probeNodes, stuck, tab, type ProbeSink } from '../harness/probe';
import { megabytes, queue } from '../harness/queue';
import { entryOf, readStatus } from '../harness/status';
import { waitFor } from '../harness/wait';

const FAST = { retryInitialMs: 5, retryMaxMs: 20 };

describe('push-queue in Node-RED', () => {
  let nodeRed: RunningNodeRed;
  const statuses = new Map<string, NodeStatus>();
  const logged: string[] = [];

  beforeAll(async () => {
    const keep = () => (entry: { msg: unknown }) => logged.push(String(entry.msg));
    nodeRed = await startNodeRed({
      nodesDir: [probeNodes],
      settings: {
        logging: {
          console: { level: 'off' },
          kept: { level: 'info', metrics: false, audit: false, handler: keep },
        },
      },
    });
    nodeRed.RED.events.on('node-status', ({ id, status }: { id: string; status: NodeStatus }) => {
      statuses.set(id, status);
    });
  });
  afterAll(() => nodeRed.stop());

  async function deploy(nodes: FlowNode[], type: DeployType = 'full'): Promise<void> {
    await nodeRed.deploy([tab(), ...nodes], type);
    await waitFor('the queues to be open', async () => {
      const { sinks } = await readStatus(nodeRed);
      return sinks.every((sink) => sink['state'] !== 'opening');
    });
  }
  const sink = async (id: string) => entryOf((await readStatus(nodeRed)).sinks, id);
  const fill = async (id: string, records: number, expected = records) => {
    for (let index = 0; index < records; index++) nodeRed.node(id).receive({ payload: `${id}-${index}` });
    await waitFor(
      `${expected} records in ${id}`,
      async () => Number((await sink(id))['delivered']) >= expected,
    );
  };
  const received = (id: string) => nodeRed.node<ProbeSink>(id).received;
  const payloads = (id: string) => received(id).map(({ payload }) => payload);
  const drained = (id: string) =>
    waitFor(`${id} to be empty`, async () => Number((await sink(id))['records']) === 0);
  const sluiceOf = (msg: Message | undefined) => msg?.['sluice'] as Record<string, unknown>;

  it('O5 keeps its records in push_queue.db, or in a file of its own name, and delivers them', async () => {
    await deploy([
      queue('a', { queue: 'push', wires: [['out'], []] }),
      queue('b', { queue: 'orders', wires: [['out'], []] }),
      probe('out'),
    ]);
    await fill('a', 2);
    await fill('b', 1);
    await drained('a');
    await drained('b');
    expect(payloads('out').toSorted()).toEqual(['a-0', 'a-1', 'b-0']);
    expect(sluiceOf(received('out')[0])).toMatchObject({ attempt: 1, source: 'push' });
    for (const file of ['push_queue.db', 'orders_queue.db']) {
      expect(existsSync(join(nodeRed.userDir, 'sluice', file))).toBe(true);
    }
  });

  it('O8 O6 evicts the oldest by default, at a quota of 2000 MB', async () => {
    await deploy([{ id: 'q', type: 'push-queue', z: 'tab', queue: 'defaults', wires: [[], []] }]);
    expect(await sink('q')).toMatchObject({ on_full: 'evict_oldest', quota_bytes: 2000 * 1024 * 1024 });
  });

  it('O5 O15 keeps its backlog over a redeploy, which applies another policy', async () => {
    await deploy([queue('q', { queue: 'policy', maxQuotaMb: megabytes(100_000) })]);
    await fill('q', 3);
    await deploy(
      [queue('q', { queue: 'policy', maxQuotaMb: megabytes(100_000), onFull: 'evict_oldest' })],
      'nodes',
    );
    expect(await sink('q')).toMatchObject({ on_full: 'evict_oldest', records: 3 });
    await deploy([]);
    await deploy([queue('q', { queue: 'policy', wires: [['out'], []] }), probe('out')]);
    await drained('q');
    expect(payloads('out')).toEqual(['q-0', 'q-1', 'q-2']);
  });

  it('O9 O60 deletes the oldest records at the quota: counted, logged, alerted', async () => {
    await deploy([queue('q', { queue: 'evicts', onFull: 'evict_oldest', maxQuotaMb: megabytes(1000) })]);
    for (let index = 0; index < 50; index++) nodeRed.node('q').receive({ payload: 'x'.repeat(100) });
    await waitFor('all to be stored', async () => (await sink('q'))['delivered'] === 50);
    const status = await sink('q');
    expect(Number(status['evicted_total'])).toBeGreaterThan(40);
    expect(status).toMatchObject({ blocked_total: 0, level: 'full', dropped: status['evicted_total'] });
    expect(Number(status['bytes'])).toBeLessThanOrEqual(1000);
    expect(Number(status['records']) + Number(status['evicted_total'])).toBe(50);
    runtimeOf(nodeRed.RED).alerts.check();
    const alert = logged.find((line) =>
      line.includes('"evicts" is full: evicting the oldest records, data gap'),
    );
    expect(alert).toContain(`(${String(status['evicted_total'])})`);
    expect(await runtimeOf(nodeRed.RED).metrics.render()).toContain(
      `opex_connector_push_queue_gaps_total{queue="evicts"} ${String(status['evicted_total'])}`,
    );
  });

  it('O10 O60 refuses at the quota under block: the message fails, nothing is deleted', async () => {
    await deploy([
      queue('q', { queue: 'blocks', maxQuotaMb: megabytes(100) }),
      { id: 'catch', type: 'catch', z: 'tab', scope: ['q'], uncaught: false, wires: [['caught']] },
      probe('caught'),
    ]);
    await fill('q', 1);
    nodeRed.node('q').receive({ payload: 'refused' });
    await waitFor('the refusal', () => received('caught').length === 1);
    expect(received('caught')[0]?.['error']).toMatchObject({
      message: expect.stringMatching(/quota/) as string,
    });
    expect(await sink('q')).toMatchObject({ records: 1, blocked_total: 1, evicted_total: 0, blocking: true });
    await waitFor('a red status', () => statuses.get('q')?.fill === 'red');
  });

  it('O12 does not start with block where it needs enabled and a quota, and says so in red', async () => {
    for (const wrong of [{ enabled: false }, { maxQuotaMb: 0 }]) {
      statuses.delete('q');
      await nodeRed.deploy([tab(), queue('q', { queue: 'o12', ...wrong })]);
      expect(statuses.get('q')).toMatchObject({ fill: 'red', text: 'check the settings' });
      expect((await readStatus(nodeRed)).sinks).toEqual([]);
    }
  });

  it('O7 O63 keeps its records in memory when it is not enabled, warns, and loses none by a redeploy', async () => {
    const memory = (more = {}) =>
      queue('q', { queue: 'volatile', enabled: false, onFull: 'evict_oldest', ...more });
    await deploy([memory()]);
    expect(await sink('q')).toMatchObject({ quota_bytes: 16 * 1024 * 1024 });
    expect(logged.some((line) => /volatile keeps its records in memory only/.test(line))).toBe(true);
    expect(existsSync(join(nodeRed.userDir, 'sluice', 'volatile_queue.db'))).toBe(false);
    await fill('q', 2);
    await deploy([memory({ wires: [['out'], []] }), probe('out')]);
    await drained('q');
    expect(payloads('out')).toEqual(['q-0', 'q-1']);
  });

  it('refuses a second node with the same queue name, and the first goes on', async () => {
    await deploy([queue('first', { queue: 'twin' }), queue('second', { queue: 'twin' })]);
    const { sinks } = await readStatus(nodeRed);
    expect(sinks.map(({ id }) => id)).toEqual(['first']);
    expect(statuses.get('second')).toMatchObject({ fill: 'red', text: 'queue name taken' });
    await fill('first', 1);
  });

  it('shows a file that cannot be opened in red, with its code, and refuses', async () => {
    await mkdir(join(nodeRed.userDir, 'sluice', 'wall_queue.db'), { recursive: true });
    await deploy([
      queue('q', { queue: 'wall' }),
      { id: 'catch', type: 'catch', z: 'tab', scope: ['q'], uncaught: false, wires: [['caught']] },
      probe('caught'),
    ]);
    await waitFor('a red status', () => statuses.get('q')?.fill === 'red');
    expect(await sink('q')).toMatchObject({ state: 'failed', records: 0 });
    nodeRed.node('q').receive({ payload: 1 });
    await waitFor('the refusal', () => received('caught').length === 1);
    expect(logged.some((line) => /"wall": .*ERR_SLUICE_QUEUE_/.test(line))).toBe(true);
  });

  it('retries a failed delivery with the same record id and a growing attempt', async () => {
    await deploy([queue('q', { queue: 'retries', wires: [['out'], []], ...FAST }), probe('out')]);
    nodeRed.node<ProbeSink>('out').finish = (_msg, _send, done) =>
      done(received('out').length < 3 ? new Error('down') : undefined);
    await fill('q', 1);
    await drained('q');
    const stamps = received('out').map(sluiceOf);
    expect(stamps.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    expect(new Set(stamps.map(({ id }) => id)).size).toBe(1);
    expect(await sink('q')).toMatchObject({ forwarded_total: 1, dead: 0 });
  });

  it('gives a record up after five unknown outcomes and sends it out of output 2', async () => {
    await deploy([
      queue('q', { queue: 'unknown', wires: [['stuck'], ['dead']], ...FAST, deliveryTimeoutMs: 20 }),
      stuck('stuck'),
      probe('dead'),
    ]);
    await fill('q', 1);
    await waitFor('the dead letter', () => received('dead').length === 1);
    expect(received('dead')[0]).toMatchObject({
      payload: 'q-0',
      sluice: { attempt: 5, dead: { code: 'ERR_SLUICE_QUEUE_OUTCOME_UNKNOWN' } },
    });
    expect(await sink('q')).toMatchObject({ records: 0, dead: 1 });
  });

  it('N16 keeps the order of each key over failures and a redeploy, and holds up no other key', async () => {
    const flow = (name: string): FlowNode[] => [
      queue('q', {
        queue: 'lanes',
        ordering: 'key',
        keyProperty: 'topic',
        wires: [['out'], []],
        name,
        ...FAST,
      }),
      probe('out'),
    ];
    const done: string[] = [];
    const failures = new Map([
      ['a0', 2],
      ['b1', 1],
      ['a2', 3],
    ]);
    const answer = () => {
      nodeRed.node<ProbeSink>('out').finish = (msg, _send, end) => {
        const text = String(msg.payload);
        const left = failures.get(text) ?? 0;
        failures.set(text, left - 1);
        if (left > 0) return end(new Error('down'));
        done.push(text);
        end();
      };
    };
    await deploy(flow('1'));
    answer();
    for (let index = 0; index < 4; index++) {
      for (const topic of ['a', 'b', 'c']) nodeRed.node('q').receive({ topic, payload: `${topic}${index}` });
    }
    await deploy(flow('2'), 'nodes');
    answer();
    await drained('q');
    // A record that was out when the node was replaced may be delivered twice, never out of order.
    const order = (topic: string) => [...new Set(done.filter((text) => text.startsWith(topic)))];
    for (const topic of ['a', 'b', 'c'])
      expect(order(topic)).toEqual([0, 1, 2, 3].map((index) => `${topic}${index}`));
  });

  it('waits, without leasing, while nothing alive is wired to its output', async () => {
    await deploy([queue('q', { queue: 'unwired', wires: [['off'], []] }), { ...probe('off'), d: true }]);
    await fill('q', 1);
    await waitFor('the status', () => statuses.get('q')?.text === '1, not wired');
    expect(entryOf((await readStatus(nodeRed)).sources, 'q')).toMatchObject({
      state: 'no_destination',
      in_flight: 0,
    });
  });

  it('waits for a full queue behind it without running the nodes in between', async () => {
    await deploy([
      queue('q', { queue: 'front', wires: [['f'], []] }),
      functionNode('f', 'return msg;', [['back', 'seen']]),
      probe('seen'),
      queue('back', { maxQuotaMb: megabytes(100) }),
    ]);
    await fill('back', 1);
    await fill('q', 3);
    await waitFor('the status', () => statuses.get('q')?.text === '3, sink full');
    expect(received('seen')).toEqual([]);
    expect(await sink('back')).toMatchObject({ blocked: 0 });
  });

  it('O19 drains while it is full, though it is in its own conservative set', async () => {
    const flow = (wires: string[][]): FlowNode[] => [
      {
        id: 'sf',
        type: 'subflow',
        name: 'pass',
        in: [{ wires: [{ id: 'sf-f' }] }],
        out: [{ wires: [{ id: 'sf-f', port: 0 }] }],
      },
      functionNode('sf-f', 'return msg;', [[]], 'sf'),
      queue('q', { queue: 'conservative', maxQuotaMb: megabytes(100), wires }),
      { id: 'call', type: 'subflow:sf', z: 'tab', wires: [['out']] },
      probe('out'),
    ];
    await deploy(flow([[], []]));
    await fill('q', 1);
    await deploy(flow([['call'], []]));
    await drained('q');
    expect(payloads('out')).toEqual(['q-0']);
  });

  it('two full queues in a ring pass their records on', async () => {
    const ring = (wired: boolean): FlowNode[] => [
      queue('a', {
        queue: 'ring-a',
        maxQuotaMb: megabytes(100),
        wires: wired ? [['fa'], []] : [[], []],
        ...FAST,
      }),
      queue('b', {
        queue: 'ring-b',
        maxQuotaMb: megabytes(100),
        wires: wired ? [['fb'], []] : [[], []],
        ...FAST,
      }),
      functionNode('fa', 'msg.hops = (msg.hops || 0) + 1; return msg.hops < 3 ? [msg, null] : [null, msg];', [
        ['b'],
        ['out'],
      ]),
      functionNode('fb', 'msg.hops = (msg.hops || 0) + 1; return msg.hops < 3 ? [msg, null] : [null, msg];', [
        ['a'],
        ['out'],
      ]),
      probe('out'),
    ];
    await deploy(ring(false));
    await fill('a', 1);
    await deploy(ring(true));
    await drained('a');
    await drained('b');
    expect(payloads('out')).toEqual(['a-0']);
  });

  it('a record sent back into its own full queue is delivered again, and leaves it when it is done', async () => {
    const loop = (wires: string[][]): FlowNode[] => [
      queue('q', { queue: 'loop', maxQuotaMb: megabytes(100), wires, ...FAST }),
      functionNode(
        'f',
        'msg.rounds = (msg.rounds || 0) + 1; return msg.rounds < 4 ? [msg, null] : [null, msg];',
        [['q'], ['out']],
      ),
      probe('out'),
    ];
    await deploy(loop([[], []]));
    await fill('q', 1);
    await deploy(loop([['f'], []]));
    await drained('q');
    await waitFor('the record', () => received('out').length === 1);
    expect(received('out')[0]).toMatchObject({ payload: 'q-0', rounds: 4 });
    expect(await sink('q')).toMatchObject({ blocked: 0 });
  });

  it('O1 sends a record back once and still delivers it elsewhere, though that fails at first', async () => {
    await deploy([
      queue('q', { queue: 'fan', wires: [['f'], []], ...FAST }),
      functionNode(
        'f',
        'if (msg.again) return [null, null, msg]; const again = RED.util.cloneMessage(msg); again.again = true; return [again, msg, null];',
        [['q'], ['out'], ['final']],
      ),
      probe('out'),
      probe('final'),
    ]);
    nodeRed.node<ProbeSink>('out').finish = (_msg, _send, done) =>
      done(received('out').length < 3 ? new Error('down') : undefined);
    nodeRed.node('q').receive({ payload: 'one' });
    await waitFor('three attempts', () => received('out').length === 3);
    await drained('q');
    expect(payloads('final')).toEqual(['one']);
    // The copy is stored once, however often its original was delivered.
    expect(await sink('q')).toMatchObject({ delivered: 2, forwarded_total: 2, dead: 0 });
  });

  it('N13 loses nothing and acknowledges nothing unfinished when flows are redeployed during delivery', async () => {
    const seen = new Set<unknown>();
    const flow = (name: string): FlowNode[] => [
      queue('q', { queue: 'redeploy', maxQuotaMb: 10, wires: [['slow'], []], name, ...FAST }),
      {
        id: 'slow',
        type: 'delay',
        z: 'tab',
        pauseType: 'delay',
        timeout: '30',
        timeoutUnits: 'milliseconds',
        name,
        wires: [['out']],
      },
      probe('out'),
    ];
    const note = () => {
      nodeRed.node<ProbeSink>('out').finish = (msg, _send, done) => {
        seen.add(msg.payload);
        done();
      };
    };
    await deploy(flow('0'));
    note();
    let sent = 0;
    for (const type of ['full', 'nodes', 'flows', 'nodes', 'full'] as const) {
      for (let index = 0; index < 200; index++) nodeRed.node('q').receive({ payload: sent++ });
      await waitFor('some to be stored', async () => Number((await sink('q'))['delivered']) >= 200);
      await deploy(flow(String(sent)), type);
      note();
    }
    await drained('q');
    expect([...seen].toSorted((a, b) => Number(a) - Number(b))).toEqual(
      Array.from({ length: sent }, (_, index) => index),
    );
  });
});
