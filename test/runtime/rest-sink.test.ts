import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { runtimeOf } from '#lib/node-red/runtime';
import type { Message, NodeStatus, RuntimeNode } from '#lib/node-red/types';
import { gate, startDestination, type Destination } from '../harness/destination';
import { makeCertificates } from '../harness/destination-certificates';
import { startProxy } from '../harness/destination-proxy';
import { startNodeRed, type FlowNode, type RunningNodeRed } from '../harness/node-red';
import { waitFor } from '../harness/wait';

let nodeRed: RunningNodeRed;
let destination: Destination;
let stopWatching = () => {};
beforeAll(async () => {
  nodeRed = await startNodeRed();
});
afterAll(() => nodeRed.stop());
beforeEach(async () => {
  destination = await startDestination();
});
afterEach(async () => {
  stopWatching();
  await nodeRed.deploy([]);
  await destination.close();
});

interface Seen {
  readonly delivered: Message[];
  readonly caught: Message[];
  /** Of the sink, in order. */
  readonly statuses: NodeStatus[];
}

/** Deploys a rest-sink with an output and a catch node, and collects what they get. */
async function deploySink(saved: Record<string, unknown>, others: readonly FlowNode[] = []): Promise<Seen> {
  const statuses: NodeStatus[] = [];
  const onStatus = ({ id, status }: { id: string; status: NodeStatus }) => {
    if (id === 'sink') statuses.push(status);
  };
  nodeRed.RED.events.on('node-status', onStatus);
  stopWatching = () => void nodeRed.RED.events.off('node-status', onStatus);
  // Node-RED takes a node without a position for a config node.
  const placed = { z: 'tab', x: 100, y: 100 };
  await nodeRed.deploy([
    { id: 'tab', type: 'tab', label: 'Orders' },
    { id: 'sink', type: 'rest-sink', ...placed, wires: [['delivered']], ...saved },
    { id: 'catch', type: 'catch', ...placed, scope: ['sink'], wires: [['caught']] },
    ...['delivered', 'caught'].map((id) => ({
      id,
      type: 'function',
      z: 'tab',
      func: '',
      wires: [],
    })),
    ...others,
  ]);
  const collect = (id: string) => {
    const messages: Message[] = [];
    nodeRed.node(id).on('input', (msg, _send, done) => {
      messages.push(msg);
      done();
    });
    return messages;
  };
  return { delivered: collect('delivered'), caught: collect('caught'), statuses };
}

const send = (msg: Message) => nodeRed.node<RuntimeNode>('sink').receive(msg);

describe('rest-sink in Node-RED', () => {
  it('sends the message on once the destination has confirmed it', async () => {
    destination.answer(() => ({ status: 201, headers: { 'x-id': '7' }, body: '{"stored":true}' }));
    const { delivered, caught } = await deploySink({ url: destination.url, name: 'order service' });
    send({ payload: { n: 1 }, topic: 'orders' });
    await waitFor('the message on output 1', () => delivered.length === 1);
    expect(delivered[0]).toMatchObject({
      payload: { n: 1 },
      topic: 'orders',
      statusCode: 201,
      response: { statusCode: 201, headers: { 'x-id': '7' }, body: '{"stored":true}' },
      sluice: { delivered: { sink: 'order service', attempts: 1, at: expect.any(Number) as number } },
    });
    expect(destination.requests[0]).toMatchObject({ text: '{"n":1}' });
    expect(destination.requests[0]!.headers['idempotency-key']).toMatch(/^[0-9A-HJKMNP-TV-Z]{26}$/);
    expect(caught).toEqual([]);
  });

  it('R6 sends what its template makes, and fails a record that lacks a variable at stage DataTemplate', async () => {
    const { caught } = await deploySink({ url: destination.url, template: '{"celsius": {{temp}}}' });
    send({ payload: { temp: 21.5 } });
    await waitFor('the request', () => destination.requests.length === 1);
    expect(destination.requests[0]).toMatchObject({ text: '{"celsius": 21.5}' });
    send({ payload: { other: 1 } });
    await waitFor('the failure', () => caught.length === 1);
    expect(caught[0]).toMatchObject({ payload: { other: 1 }, error: { code: 'ERR_SLUICE_TEMPLATE_FAILED' } });
    expect(destination.requests.length).toBe(1);
  });

  it('NR-11 gives the catch node the original message and the code of the error', async () => {
    destination.answer(() => ({ status: 422 }));
    const { delivered, caught } = await deploySink({ url: destination.url });
    send({ payload: { n: 1 }, topic: 'orders', correlation: 'abc' });
    await waitFor('the catch node', () => caught.length === 1);
    expect(caught[0]).toMatchObject({
      payload: { n: 1 },
      topic: 'orders',
      correlation: 'abc',
      error: { code: 'ERR_SLUICE_REST_REJECTED', source: { id: 'sink', type: 'rest-sink' } },
    });
    expect(delivered).toEqual([]);
  });

  it('O42 is a sink of the registry with dropped and blocked as separate counters, until it closes', async () => {
    const { opened, open } = gate();
    destination.answer(() => ({ after: opened }));
    const { caught } = await deploySink({ url: destination.url, concurrency: 1, maxBacklog: 1 });
    const [sink] = runtimeOf(nodeRed.RED).registry.sinks;
    expect(sink).toMatchObject({ id: 'sink', name: 'rest', type: 'rest-sink', z: 'tab', policy: 'block' });
    for (const n of [1, 2, 3]) send({ payload: n });
    await waitFor('the refusal', () => caught.length === 1);
    expect(caught[0]).toMatchObject({ payload: 3, error: { code: 'ERR_SLUICE_REST_BACKLOG_FULL' } });
    expect(sink!.status()).toMatchObject({ dropped: 0, blocked: 1, level: 'full' });
    open();
    await nodeRed.deploy([]);
    expect(runtimeOf(nodeRed.RED).registry.sinks).toEqual([]);
  });

  it('N13 fails a record that a deploy interrupts, and never sends it on', async () => {
    destination.answer(() => ({ after: new Promise(() => {}) }));
    const { caught, delivered } = await deploySink({ url: destination.url, concurrency: 1 });
    send({ payload: 1 });
    send({ payload: 2 });
    await waitFor('the request', () => destination.requests.length === 1);
    const errors: unknown[] = [];
    const onComplete = ({ error }: { error?: unknown }) => void errors.push(error);
    nodeRed.RED.hooks.add('onComplete.rest-sink-test', (event) => onComplete(event));
    await nodeRed.deploy([{ id: 'tab', type: 'tab', label: 'Orders' }]);
    nodeRed.RED.hooks.remove('onComplete.rest-sink-test');
    const aborted = expect.objectContaining({ code: 'ERR_SLUICE_DELIVERY_ABORTED' }) as unknown;
    expect(errors).toEqual([aborted, aborted]);
    expect([...delivered, ...caught.filter(({ error }) => !error)]).toEqual([]);
  });

  it('uses a tls-config node', async () => {
    const { ca, server } = makeCertificates();
    const secure = await startDestination({ tls: server });
    const tls = {
      id: 'tls',
      type: 'tls-config',
      name: '',
      cert: '',
      key: '',
      ca: '',
      verifyservercert: true,
    };
    const { delivered } = await deploySink({ url: secure.url, tls: 'tls' }, [
      { ...tls, credentials: { cadata: ca } },
    ]);
    send({ payload: 1 });
    await waitFor('the delivery', () => delivered.length === 1);
    await nodeRed.deploy([]);
    await secure.close();
  });

  it('uses an http proxy node with its login', async () => {
    const proxy = await startProxy('me:s/cret');
    const config = { id: 'proxy', type: 'http proxy', name: '', url: proxy.url, noproxy: [] };
    const { delivered } = await deploySink({ url: destination.url, proxy: 'proxy' }, [
      { ...config, credentials: { username: 'me', password: 's/cret' } },
    ]);
    send({ payload: 1 });
    await waitFor('the delivery', () => delivered.length === 1);
    expect(proxy.seen).toHaveLength(1);
    await nodeRed.deploy([]);
    await proxy.close();
  });

  it('sends the credentials of the node', async () => {
    const { delivered } = await deploySink({
      url: destination.url,
      auth: 'bearer',
      credentials: { token: 't0' },
    });
    send({ payload: 1 });
    await waitFor('the delivery', () => delivered.length === 1);
    expect(destination.requests[0]!.headers['authorization']).toBe('Bearer t0');
  });

  it.each([
    ['no URL', {}, 'url'],
    ['bearer authentication without a token', { auth: 'bearer', url: 'http://localhost/' }, 'token'],
    ['a TLS configuration that is gone', { tls: 'gone', url: 'https://localhost/' }, 'tls'],
    ['a batch above the backlog', { url: 'http://localhost/', batch: 5, maxBacklog: 2 }, 'batch'],
  ])('does not start with %s: says so and keeps what arrives', async (_, saved, property) => {
    const { caught, statuses } = await deploySink(saved);
    expect(runtimeOf(nodeRed.RED).registry.sinks).toEqual([]);
    send({ payload: 1 });
    await waitFor('the error', () => caught.length === 1);
    expect(caught[0]).toMatchObject({ payload: 1, error: { code: 'ERR_SLUICE_CONFIG_INVALID' } });
    expect((caught[0]!['error'] as { message: string }).message).toContain(property);
    expect(statuses).toEqual([{ fill: 'red', shape: 'ring', text: 'check the settings' }]);
  });

  it('shows what went wrong last, and that it is ready again', async () => {
    destination.answer(() => ({ status: 503 }));
    const { statuses, delivered } = await deploySink({ url: destination.url });
    const texts = () => statuses.map(({ text }) => text);
    send({ payload: 1 });
    await waitFor('the failure', () => texts().includes('destination busy'));
    destination.answer(() => ({}));
    send({ payload: 1 });
    await waitFor('the delivery', () => delivered.length === 1);
    await waitFor('the recovery', () => texts().at(-1) === 'rest-sink.status.ready');
  });

  it('O1 gives a tracked record the verdict of its destination, and one Idempotency-Key for all attempts', async () => {
    destination.answer(() => ({ status: destination.requests.length === 1 ? 503 : 200 }));
    const source = { id: 'source', type: 'function', z: 'tab', x: 1, y: 1, func: '', wires: [['sink']] };
    const { delivered } = await deploySink({ url: destination.url }, [source]);
    const attempt = (number: number) =>
      runtimeOf(nodeRed.RED).lineage.send(
        nodeRed.node('source'),
        { payload: { n: 1 } },
        {
          stamp: { id: 'order-1', source: 'orders', receivedAt: 1000, attempt: number },
          origin: 'source:order-1',
          timeoutMs: 10_000,
        },
      );
    expect(await attempt(1)).toMatchObject({ kind: 'failed', failure: 'transient' });
    expect(await attempt(2)).toEqual({ kind: 'done' });
    const [first, second] = destination.requests.map(({ headers }) => headers['idempotency-key']);
    expect(second).toBe(first);
    expect(delivered).toHaveLength(1);
    expect(delivered[0]).toMatchObject({
      sluice: { id: 'order-1', source: 'orders', attempt: 2, delivered: { sink: 'rest', attempts: 2 } },
    });
  });

  it('O1 counts a record as permanently failed when the destination refuses it for its data', async () => {
    destination.answer(() => ({ status: 400 }));
    const source = { id: 'source', type: 'function', z: 'tab', x: 1, y: 1, func: '', wires: [['sink']] };
    await deploySink({ url: destination.url }, [source]);
    const verdict = await runtimeOf(nodeRed.RED).lineage.send(
      nodeRed.node('source'),
      { payload: 1 },
      {
        stamp: { id: 'order-2', source: 'orders', receivedAt: 1000, attempt: 1 },
        origin: 'source:order-2',
        timeoutMs: 10_000,
      },
    );
    expect(verdict).toMatchObject({ kind: 'failed', failure: 'permanent' });
  });
});
