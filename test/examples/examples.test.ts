import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '#lib/config/read-config';
import { runtimeOf } from '#lib/node-red/runtime';
import type { NodeStatus } from '#lib/node-red/types';
import { sign } from '#lib/webhook/sign';
import { fields, problemsOf } from '#nodes/signed-webhook/signed-webhook.config';
import { configOf, canvasTypes, nodeTypes } from '../editor/node-types';
import { post } from '../harness/http';
import { startNodeRed, type FlowNode, type RunningNodeRed } from '../harness/node-red';
import { waitFor } from '../harness/wait';
import { callHook, SECRET } from '../harness/webhook';
import { allExamples, examples, readExample } from './example-flows';

const TOKEN = 'example-token';
const credentials: Readonly<Record<string, Record<string, string>>> = {
  'signed-webhook': { secret: SECRET },
  'ingest-api': { token: TOKEN },
};
/** An example as a user has it after filling in the secrets and the port that its comment asks for. */
const filledIn = (nodes: readonly FlowNode[], { url }: RunningNodeRed): FlowNode[] =>
  nodes.map((node) => {
    const secrets = credentials[node.type];
    const here = { ...node, ...(secrets ? { credentials: secrets } : {}) };
    if (node.type !== 'rest-sink') return here;
    return { ...here, url: String(node['url']).replace('http://127.0.0.1:1880', url) };
  });

const isTab = (node: FlowNode) => node.type === 'tab';
const position = (node: FlowNode) => ({ x: Number(node['x']), y: Number(node['y']) });
const targetsOf = (node: FlowNode) => ((node['wires'] ?? []) as string[][]).flat();

describe('examples', () => {
  it('exist for every node type', () => {
    const shown = new Set(examples.flatMap((name) => readExample(name).map((node) => node.type)));
    expect(nodeTypes.filter((type) => !shown.has(type))).toEqual([]);
  });

  it('can all be imported side by side: no id, hook, source or queue occurs twice', () => {
    const nodes = allExamples.flatMap(readExample);
    for (const property of ['id', 'hook', 'source', 'queue']) {
      const values = nodes.map((node) => node[property]).filter((value) => value !== undefined);
      expect(
        values.filter((value, index) => values.indexOf(value) !== index),
        property,
      ).toEqual([]);
    }
  });
});

describe.each(allExamples)('example %s', (name) => {
  const nodes = readExample(name);
  const drawn = nodes.filter((node) => node['x'] !== undefined);

  it('starts with a tab and a comment above everything, which says what to do', () => {
    const [tab, comment, ...others] = nodes;
    expect([tab?.type, comment?.type]).toEqual(['tab', 'comment']);
    expect(String(comment?.['name'])).not.toBe('');
    expect(String(comment?.['info']).length).toBeGreaterThan(50);
    const top = comment ? position(comment).y : NaN;
    for (const node of others) if (node['y'] !== undefined) expect(position(node).y).toBeGreaterThan(top);
  });

  it('is laid out on the grid, without overlaps, every wire ending at a node', () => {
    const ids = new Set(nodes.map((node) => node.id));
    for (const node of drawn) {
      const { x, y } = position(node);
      expect([x % 10, y % 20], `${node.id} at ${x}, ${y}`).toEqual([0, 0]);
      expect(targetsOf(node).filter((id) => !ids.has(id))).toEqual([]);
      const near = drawn.filter((other) => {
        const { x: otherX, y: otherY } = position(other);
        return other !== node && Math.abs(otherX - x) < 100 && Math.abs(otherY - y) < 40;
      });
      expect(
        near.map((other) => other.id),
        node.id,
      ).toEqual([]);
    }
  });

  it('saves every property of our nodes, with values that work, and no secret', () => {
    for (const node of nodes.filter(({ type }) => nodeTypes.includes(type))) {
      const { fields, credentials: secrets = {}, problemsOf } = configOf(node.type);
      expect(Object.keys(node)).toEqual(expect.arrayContaining(Object.keys(fields)));
      for (const secret of Object.keys(secrets)) expect(node).not.toHaveProperty(secret);
      expect(() => readConfig(fields, node, problemsOf)).not.toThrow();
    }
  });
});

describe('in Node-RED', () => {
  let nodeRed: RunningNodeRed;
  const statuses = new Map<string, NodeStatus>();
  let debugged: { id: string; msg: string }[] = [];
  const debug = (name: string, label: string) => {
    const id = readExample(name).find((node) => node.type === 'debug' && node['name'] === label)?.id;
    return debugged.filter((entry) => entry.id === id).map((entry) => entry.msg);
  };

  beforeAll(async () => {
    nodeRed = await startNodeRed();
    nodeRed.RED.events.on('node-status', ({ id, status }: { id: string; status: NodeStatus }) => {
      statuses.set(id, status);
    });
    nodeRed.RED.events.on(
      'comms',
      ({ topic, data }: { topic: string; data: { id: string; msg: string } }) => {
        if (topic === 'debug') debugged.push(data);
      },
    );
  });
  afterEach(() => {
    debugged = [];
  });
  afterAll(() => nodeRed?.stop());

  /** Deploys and waits until the nodes of ours are ready: a queue opens its file. */
  async function deploy(example: readonly FlowNode[]) {
    const nodes = filledIn(example, nodeRed);
    statuses.clear();
    await nodeRed.deploy(nodes);
    const ours = nodes.filter(({ type, d }) => canvasTypes.includes(type) && d !== true);
    // An engine for SQL takes its time.
    await waitFor(
      'a green status of all our nodes',
      () => ours.every(({ id }) => statuses.get(id)?.fill === 'green'),
      60_000,
    );
  }

  it.each(examples)(
    '%s deploys: each node is live, none of ours in trouble',
    async (name) => {
      const nodes = readExample(name);
      await deploy(nodes);
      const live = nodes.filter((node) => !isTab(node) && node['d'] !== true);
      for (const { id, type } of live) expect(nodeRed.RED.nodes.getNode(id), `${type} ${id}`).not.toBeNull();
    },
    90_000,
  );

  it('signed-webhook delivers a payment', async () => {
    await deploy(readExample('signed-webhook'));
    const answer = await callHook(nodeRed, 'payments', { amount: 12 });
    expect([answer.status, answer.json()['result']]).toEqual([200, 'done']);
    await waitFor('the payment', () => debug('signed-webhook', 'deliver').length === 1);
    expect(debug('signed-webhook', 'deliver')[0]).toContain('"amount":12');
  });

  it('ingest-api delivers a reading once, however often it is sent', async () => {
    await deploy(readExample('ingest-api'));
    const send = () =>
      post(`${nodeRed.url}/api/ingest/plant-1/reading-1`, '{"temperature":21.5}', {
        headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      });
    expect((await send()).status).toBe(200);
    expect((await send()).status).toBe(200);
    await waitFor('the reading', () => debug('ingest-api', 'deliver').length > 0);
    expect(debug('ingest-api', 'deliver')).toEqual([expect.stringContaining('21.5')]);
  });

  it('push-queue delivers again what failed the first time', async () => {
    const nodes = readExample('push-queue').map((node) =>
      node.type === 'push-queue' ? { ...node, retryInitialMs: 20 } : node,
    );
    await deploy(nodes);
    nodeRed.node(nodes.find((node) => node.type === 'inject')?.id ?? '').receive({});
    await waitFor('the reading', () => debug('push-queue', 'delivered').length === 1);
    expect(debug('push-queue', 'delivered')[0]).toContain('"attempt":2');
    expect(debug('push-queue', 'dead letters')).toEqual([]);
  });

  it('rest-sink shows what becomes of a good, an early and a bad reading', async () => {
    const nodes = readExample('rest-sink');
    await deploy(nodes);
    const press = (label: string) =>
      nodeRed.node(nodes.find((node) => node['name'] === label)?.id ?? '').receive({});
    press('good reading');
    await waitFor('the good reading', () => debug('rest-sink', 'confirmed').length === 1);
    press('while it is busy');
    await waitFor('the early reading', () => debug('rest-sink', 'why').length === 1);
    press('bad reading');
    await waitFor('the bad reading', () => debug('rest-sink', 'why').length === 2);
    expect(debug('rest-sink', 'confirmed')).toEqual([expect.stringContaining('21.5')]);
  });

  it('record-stages lets a good reading pass and says at which stage another one fails', async () => {
    const nodes = readExample('record-stages');
    await deploy(nodes);
    const press = (label: string) =>
      nodeRed.node(nodes.find((node) => node['name'] === label)?.id ?? '').receive({});
    press('good reading');
    await waitFor('the good reading', () => debug('record-stages', 'passed').length === 1);
    press('a number of 20 digits');
    await waitFor('the long number', () => debug('record-stages', 'passed').length === 2);
    press('malformed');
    await waitFor('the malformed reading', () => debug('record-stages', 'failed').length === 1);
    press('wrong type');
    await waitFor('the wrong type', () => debug('record-stages', 'failed').length === 2);
    press('zero');
    await waitFor('the division by zero', () => debug('record-stages', 'failed').length === 3);
    press('cold reading');
    press('no unit');
    await waitFor('the missing unit', () => debug('record-stages', 'failed').length === 4);
    expect(debug('record-stages', 'passed').length).toBe(2);
    expect(debug('record-stages', 'passed')[0]).toContain('21.5');
  });

  it('R1 R21 dead-letter-rule runs the rule of the dead-letter document and shows its example response', async () => {
    const nodes = readExample('dead-letter-rule');
    await deploy(nodes);
    const press = (label: string) =>
      nodeRed.node(nodes.find((node) => node['name'] === label)?.id ?? '').receive({});
    press('good record');
    await waitFor('the delivery', () => debug('dead-letter-rule', 'delivered').length === 1);
    expect(debug('dead-letter-rule', 'delivered')[0]).toContain('"dev_norm":2');
    press('invalid_float');
    await waitFor('the envelope', () => debug('dead-letter-rule', 'envelope').length === 1);
    const [rule] = runtimeOf(nodeRed.RED).deadLetters.room.rules.matching('rule_industrial_telemetry');
    expect([rule?.total, rule?.byStage.SchemaValidation, rule?.sinkFailures]).toEqual([1, 1, 0]);
    expect(rule?.recent.newest()).toMatchObject([
      {
        rule_id: 'rule_industrial_telemetry',
        stage: 'SchemaValidation',
        error: `Field 'temp' expected type 'float', got: "invalid_float"`,
        timestamp: expect.any(Number) as number,
        raw_payload: '{"id":101,"temp":"invalid_float","dev":"sensor_A"}',
        tuple: { id: 101, temp: 'invalid_float', dev: 'sensor_A' },
      },
    ]);
    press('malformed');
    press('refused');
    await waitFor('all envelopes', () => debug('dead-letter-rule', 'envelope').length === 3);
    expect(rule?.byStage).toMatchObject({ CodecDecode: 1, SchemaValidation: 1, SinkDelivery: 1 });
  }, 90_000);

  it('quick-start takes a signed order to its service', async () => {
    const nodes = readExample('quick-start');
    await deploy(nodes);
    const saved = nodes.find(({ type }) => type === 'signed-webhook') ?? {};
    const { hook, ...scheme } = readConfig(fields, saved, problemsOf);
    const body = Buffer.from('{"order":7}');
    const signature = sign(
      { ...scheme, secret: SECRET },
      { body, id: 'order-7', nowSecs: Date.now() / 1000 },
    );
    const answer = await post(`${nodeRed.url}/api/hooks/${hook}`, body, {
      headers: { 'content-type': 'application/json', ...signature },
    });
    expect([answer.status, answer.json()['result']]).toEqual([200, 'done']);
    await waitFor('the order', () => debugged.some(({ msg }) => msg.includes('"order":7')));
  });
});
