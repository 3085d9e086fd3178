import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { deadLettersOf, dlq, lettersOf, step } from '../harness/dead-letters';
import { startDestination } from '../harness/destination';
import { functionNode, probe, probeNodes, tab, type ProbeSink } from '../harness/probe';
import { startNodeRed, type FlowNode, type RunningNodeRed } from '../harness/node-red';
import { queue } from '../harness/queue';
import { waitFor } from '../harness/wait';
import { callHook, webhook } from '../harness/webhook';

interface Case {
  readonly id: string;
  readonly title: string;
}
const { cases } = JSON.parse(readFileSync(resolve(import.meta.dirname, '../cases/dlq.json'), 'utf8')) as {
  cases: readonly Case[];
};

let nodeRed: RunningNodeRed;
beforeAll(async () => {
  nodeRed = await startNodeRed({ nodesDir: [probeNodes] });
});
afterAll(() => nodeRed.stop());
afterEach(() => nodeRed.deploy([]));

const received = (id: string) => nodeRed.node<ProbeSink>(id).received;
/** One tab for each case, with a dlq node: rules count from the start of the runtime. */
const deploy = (rule: string, nodes: readonly FlowNode[], properties: Record<string, unknown> = {}) =>
  nodeRed.deploy([
    tab(rule),
    ...nodes.map((node) => ({ ...node, z: rule })),
    dlq('dlq', { z: rule, ...properties }),
  ]);
const ruleOf = (id: string) => deadLettersOf(nodeRed).room.rules.of(id);
const lettersIn = (rule: string) => lettersOf(nodeRed, { rule });

/** What each case expects, by its id. */
const CHECKS: Record<string, () => Promise<void>> = {
  async 'DL-01'() {
    await deploy('DL-01', [
      webhook('hook', { codec: 'text', wires: [['decode']] }),
      { id: 'decode', type: 'record-decode', codec: 'json', wires: [['sink']] },
      probe('sink'),
    ]);
    expect((await callHook(nodeRed, 'hook', '{"a":')).status).toBe(422);
    const [letter] = await lettersIn('DL-01');
    expect(letter?.envelope).toMatchObject({
      rule_id: 'DL-01',
      stage: 'CodecDecode',
      raw_payload: '{"a":',
      error: expect.any(String) as string,
      timestamp: expect.any(Number) as number,
    });
    expect(ruleOf('DL-01').byStage.CodecDecode).toBe(1);
  },
  async 'DL-03'() {
    await deploy('DL-03', [
      webhook('hook', { wires: [['divide']] }),
      functionNode(
        'divide',
        'if (msg.payload.b === 0) throw new RangeError("division by zero"); return msg;',
        [['sink']],
      ),
      probe('sink'),
      { id: 'catch', type: 'catch', scope: null, wires: [['dlq']] },
    ]);
    await callHook(nodeRed, 'hook', { a: 1, b: 0 });
    expect(await lettersIn('DL-03')).toMatchObject([
      { envelope: { stage: 'SqlEval', tuple: { a: 1, b: 0 } } },
    ]);
    expect(ruleOf('DL-03').byStage).toMatchObject({ SqlEval: 1, CodecDecode: 0 });
  },
  async 'DL-05'() {
    await deploy('DL-05', [
      webhook('hook', { wires: [['knot']] }),
      functionNode(
        'knot',
        'msg.payload = { big: 1n, fn() {} }; msg.payload.self = msg.payload; return msg;',
        [['q']],
      ),
      queue('q', { queue: 'dl-05' }),
    ]);
    await waitFor('the queue', async () => (await callHook(nodeRed, 'hook', {})).status === 422);
    const [letter] = await lettersIn('DL-05');
    expect(letter?.envelope).toMatchObject({
      stage: 'DataTemplate',
      error_code: 'ERR_SLUICE_RECORD_UNSERIALISABLE',
      tuple: { big: '1', fn: '[function]', self: '[circular]' },
      not_replayable: expect.stringContaining('msg.payload') as string,
    });
  },
  async 'DL-07'() {
    const destination = await startDestination();
    destination.answer(() => ({ status: 429, headers: { 'retry-after': '7' } }));
    const url = destination.url.replace('localhost', '127.0.0.1');
    await deploy('DL-07', [
      webhook('hook', { wires: [['rest']] }),
      { id: 'rest', type: 'rest-sink', url, wires: [[]] },
    ]);
    const answer = await callHook(nodeRed, 'hook', {});
    expect(answer.status).toBe(503);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(7);
    expect(await lettersIn('DL-07')).toEqual([]);
    await destination.close();
  },
  async 'DL-09'() {
    // The dlq's action is the product's own webhook, on the same rule; what comes there fails as well.
    await deploy('DL-09', [
      {
        id: 'ingest',
        type: 'ingest-api',
        source: 'loop',
        credentials: { token: 'token' },
        respond: 'on_done',
        dedupeHours: 0,
        wires: [['step']],
      },
      step('step', ['sink'], { fail: 'SqlEval' }),
      probe('sink'),
      functionNode(
        'address',
        'msg.headers = { authorization: "Bearer token", "content-type": "application/json" }; return msg;',
        [['rest']],
      ),
      {
        id: 'rest',
        type: 'http request',
        method: 'POST',
        url: `${nodeRed.url}/api/ingest/loop/1`,
        ret: 'txt',
        senderr: false,
        wires: [[]],
      },
    ]);
    await nodeRed.deploy([
      ...(await flowsNow()).map((node) => (node.id === 'dlq' ? { ...node, wires: [['address']] } : node)),
    ]);
    nodeRed.node('step').receive({ payload: { n: 1 } });
    await waitFor('the failure behind the dlq', () => ruleOf('DL-09').sinkFailures === 1);
    // By the time that a second one has made its way, the first would have gone round again.
    nodeRed.node('step').receive({ payload: { n: 2 } });
    await waitFor('the second', () => ruleOf('DL-09').sinkFailures === 2);
    expect(await lettersIn('DL-09')).toHaveLength(2);
    expect(ruleOf('DL-09')).toMatchObject({ total: 2, sinkFailures: 2 });
  },
  async 'DL-11'() {
    const schema = JSON.stringify({ temp: 'float' });
    await deploy(
      'DL-11',
      [
        webhook('hook', { wires: [['schema']] }),
        { id: 'schema', type: 'record-schema', schema, onInvalid: 'fail', wires: [['sink']] },
        { id: 'audit', type: 'record-schema', schema, onInvalid: 'fail', wires: [['sink']] },
        probe('sink'),
      ],
      { wires: [['audit']] },
    );
    expect((await callHook(nodeRed, 'hook', { temp: 'hot' })).status).toBe(422);
    await waitFor('the failure behind the dlq', () => ruleOf('DL-11').sinkFailures === 1);
    expect(await lettersIn('DL-11')).toMatchObject([{ envelope: { stage: 'SchemaValidation' } }]);
    expect(ruleOf('DL-11').total).toBe(1);
  },
  async 'DL-13'() {
    await deploy('DL-13', [step('step', ['sink'], { fail: 'SqlEval' }), probe('sink')]);
    for (let n = 0; n < 5; n += 1) nodeRed.node('step').receive({ payload: { n } });
    await waitFor('five errors', () => ruleOf('DL-13').total === 5);
    const response = await fetch(`${nodeRed.url}/sluice/rules/DL-13/errors`, { method: 'DELETE' });
    expect(response.status).toBe(200);
    expect(ruleOf('DL-13').recent.newest()).toEqual([]);
    expect(ruleOf('DL-13').byStage.SqlEval).toBe(5);
    expect(await lettersIn('DL-13')).toHaveLength(5);
  },
  async 'DL-15'() {
    await deploy('DL-15', [webhook('hook', { respond: 'on_receipt', wires: [['sink']] }), probe('sink')]);
    nodeRed.node<ProbeSink>('sink').finish = (_msg, _send, done) => done(new Error('down'));
    expect((await callHook(nodeRed, 'hook', { n: 1 })).json()).toMatchObject({ result: 'accepted' });
    await waitFor('the letter', async () => (await lettersIn('DL-15')).length === 1);
    const [letter] = await lettersIn('DL-15');
    nodeRed.node<ProbeSink>('sink').finish = (_msg, _send, done) => done();
    expect(await deadLettersOf(nodeRed).replays.replay(letter!.id)).toEqual({ state: 'resolved' });
    expect(received('sink').at(-1)).not.toHaveProperty('res');
  },
  async 'DL-17'() {
    await deploy('DL-17', [step('step', ['sink'], { fail: 'SqlEval' }), probe('sink')]);
    nodeRed.node('step').receive({ payload: { n: 1 } });
    await waitFor('the letter', async () => (await lettersIn('DL-17')).length === 1);
    const [letter] = await lettersIn('DL-17');
    Object.assign(nodeRed.node('step'), { broken: false });
    const { replays } = deadLettersOf(nodeRed);
    const outcomes = await Promise.allSettled([replays.replay(letter!.id), replays.replay(letter!.id)]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(received('sink')).toHaveLength(1);
  },
  async 'DL-19'() {
    await deploy('DL-19', [step('step', ['sink'], { fail: 'SqlEval' }), probe('sink')], { onError: 'drop' });
    nodeRed.node('step').receive({ payload: { n: 1 } });
    await waitFor('the count', () => ruleOf('DL-19').total === 1);
    expect(await lettersIn('DL-19')).toEqual([]);
    expect(ruleOf('DL-19').recent.newest()).toEqual([]);
  },
  async 'DL-21'() {
    await deploy('DL-21', [
      webhook('hook', { wires: [['step']] }),
      step('step', ['sink'], { fail: 'SqlEval' }),
      probe('sink'),
    ]);
    const headers = {
      authorization: 'Bearer very-secret',
      'x-api-key': 'very-secret',
      cookie: 'very-secret',
    };
    await callHook(nodeRed, 'hook', { n: 1 }, { headers });
    const [letter] = await lettersIn('DL-21');
    const answer = await fetch(`${nodeRed.url}/sluice/dlq/${letter!.id}`);
    const body = (await answer.json()) as { message: { headers: object } };
    expect(JSON.stringify(body)).not.toContain('very-secret');
    expect(Object.keys(body.message.headers)).not.toContain('webhook-signature');
    expect(body.message).not.toHaveProperty('req');
  },
};

/** The flow as it was deployed last. */
async function flowsNow(): Promise<FlowNode[]> {
  const flows = (await (await fetch(`${nodeRed.url}/flows`)).json()) as FlowNode[];
  return flows.map((node) => (node.id === 'ingest' ? { ...node, credentials: { token: 'token' } } : node));
}

describe('cases/dlq.json', () => {
  it('has a check for each case', () => {
    expect(Object.keys(CHECKS).toSorted()).toEqual(cases.map(({ id }) => id).toSorted());
  });

  it.each(cases)('$id $title', async ({ id }) => {
    await CHECKS[id]?.();
  });
});
