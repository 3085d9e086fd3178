import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
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
import { entryOf, readStatus } from '../harness/status';
import { waitFor } from '../harness/wait';
import { callHook, SECRET, webhook } from '../harness/webhook';

const TOKEN = 'ingest-test-token';
const ingest = (id: string, properties: Record<string, unknown> = {}): FlowNode => ({
  id,
  type: 'ingest-api',
  z: 'tab',
  source: id,
  credentials: { token: TOKEN },
  wires: [['sink']],
  ...properties,
});

describe('HTTP sources in Node-RED', () => {
  let nodeRed: RunningNodeRed;
  const deploy = (...nodes: FlowNode[]) => nodeRed.deploy([tab(), probe('sink'), ...nodes]);
  const sink = () => nodeRed.node<ProbeSink>('sink');
  const hook = (properties: Record<string, unknown> = {}) =>
    webhook('w', { wires: [['sink']], ...properties });
  const source = async (id = 'w') => entryOf((await readStatus(nodeRed)).sources, id);
  const send = (id: string, body: unknown, headers: Record<string, string> = {}) =>
    post(`${nodeRed.url}/api/ingest/${id}`, JSON.stringify(body), {
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...headers },
    });
  const fail = (failure: 'transient' | 'permanent') => {
    sink().finish = (_msg, _send, done) => done(Object.assign(new Error('refused'), { failure }));
  };

  beforeAll(async () => {
    nodeRed = await startNodeRed({ nodesDir: [probeNodes] });
  });
  afterEach(() => expect(nodeRed.server.listening).toBe(true));
  afterAll(() => nodeRed.stop());

  describe('answers', () => {
    it('O1 O33 on_done answers 200 only after the flow is done, with the record as the message', async () => {
      await deploy(hook({ name: 'Orders', wires: [['stuck', 'sink']] }), stuck('stuck'));
      const answer = callHook(nodeRed, 'w', { order: 7 }, { id: 'msg_7' });
      await waitFor('the record in the flow', () => sink().received.length === 1);
      const msg = sink().received[0];
      expect(msg).toMatchObject({ payload: { order: 7 }, topic: 'Orders' });
      expect(msg?.['sluice']).toMatchObject({ id: 'msg_7', source: 'Orders', attempt: 1 });
      expect(await Promise.race([answer, Promise.resolve('waiting')])).toBe('waiting');
      nodeRed.node<ProbeStuck>('stuck').stuck.forEach((done) => done());
      expect((await answer).json()).toEqual({ ok: true, result: 'done', id: 'msg_7' });
    });

    it('a permanent failure is 422, a transient one 503 that names flow', async () => {
      await deploy(hook());
      fail('permanent');
      const rejected = await callHook(nodeRed, 'w', {});
      expect([rejected.status, rejected.text]).toEqual([422, '{"ok":false,"result":"rejected"}']);
      fail('transient');
      const refused = await callHook(nodeRed, 'w', {});
      expect(refused.status).toBe(503);
      expect(refused.json()).toEqual({ ok: false, result: 'retry', sink: 'flow', retry_after_secs: 5 });
    });

    it('an output with no live destination is not done', async () => {
      await deploy(hook({ wires: [['off']] }), { ...probe('off'), d: true });
      expect((await callHook(nodeRed, 'w', {})).status).toBe(503);
    });

    it('NR-15 does not acknowledge early when a function builds a new message', async () => {
      await deploy(
        hook({ wires: [['f']] }),
        functionNode('f', 'return { payload: msg.payload };', [['stuck']]),
        stuck('stuck'),
      );
      const answer = callHook(nodeRed, 'w', {});
      await waitFor('the record', () => nodeRed.node<ProbeStuck>('stuck').stuck.length === 1);
      nodeRed.node<ProbeStuck>('stuck').stuck.forEach((done) => done(new Error('destination down')));
      expect((await answer).status).toBe(503);
    });

    it('malformed JSON is 422 and no node runs', async () => {
      await deploy(hook());
      const answer = await callHook(nodeRed, 'w', '{"a":');
      expect(answer.status).toBe(422);
      expect(sink().received).toHaveLength(0);
      expect(await source()).toMatchObject({ malformed: 1, accepted: 0 });
    });

    it('an unknown hook is 404, another method 405 with Allow', async () => {
      await deploy(hook());
      expect((await callHook(nodeRed, 'nobody', {})).status).toBe(404);
      const get = await post(`${nodeRed.url}/api/hooks/w`, '', { method: 'GET' });
      expect([get.status, get.headers['allow']]).toEqual([405, 'POST']);
    });

    it("an unknown hook path still serves a user's own http in", async () => {
      await deploy(
        hook(),
        { id: 'in', type: 'http in', z: 'tab', url: '/api/hooks/mine', method: 'post', wires: [['out']] },
        { id: 'out', type: 'http response', z: 'tab', statusCode: '202', wires: [] },
      );
      expect((await post(`${nodeRed.url}/api/hooks/mine`, '{}')).status).toBe(202);
    });

    it('a body over the limit is 413, whether it says so or is found while reading', async () => {
      await deploy(hook({ maxBodyKb: 1 }));
      const large = Buffer.alloc(3000, 0x61);
      const url = `${nodeRed.url}/api/hooks/w`;
      expect((await post(url, large)).status).toBe(413);
      expect((await post(url, '', { chunks: [large.subarray(0, 900), large.subarray(900)] })).status).toBe(
        413,
      );
      expect(await source()).toMatchObject({ too_large: 2 });
      expect(sink().received).toHaveLength(0);
    });

    it('keeps the credentials of a request out of the message', async () => {
      await deploy(ingest('api'));
      await send('api/1', {}, { cookie: 'session=1', 'x-trace': 'abc' });
      const headers = sink().received[0]?.['headers'] as Record<string, unknown>;
      expect(headers['x-trace']).toBe('abc');
      expect(headers).not.toHaveProperty('authorization');
      expect(headers).not.toHaveProperty('cookie');
    });

    it('keepRaw adds the body as it came, and the query is there', async () => {
      await deploy(hook({ keepRaw: true }));
      const answer = await post(`${nodeRed.url}/api/hooks/w?a=1&b=x%20y`, '{}');
      expect(answer.status).toBe(401);
      await callHook(nodeRed, 'w', '{ "a" : 1 }');
      expect(sink().received[0]).toMatchObject({ payload: { a: 1 }, query: {} });
      expect(String(sink().received[0]?.['raw'])).toBe('{ "a" : 1 }');
    });
  });

  describe('raw body', () => {
    it('NR-01 verifies the bytes as sent although Node-RED parses JSON ahead of every route', async () => {
      await deploy(hook());
      expect((await callHook(nodeRed, 'w', '{ "a" : 1.0, "b":"\\u00e9" }')).status).toBe(200);
      expect(sink().received[0]?.payload).toEqual({ a: 1, b: 'é' });
    });

    it('NR-03 takes a chunked body', async () => {
      await deploy(hook({ scheme: 'github', credentials: { secret: 'gh' } }));
      const body = Buffer.from('{"chunked":true}');
      const signature = `sha256=${createHmac('sha256', 'gh').update(body).digest('hex')}`;
      const chunks = [body.subarray(0, 3), body.subarray(3, 9), body.subarray(9)];
      const headers = { 'x-hub-signature-256': signature };
      expect((await post(`${nodeRed.url}/api/hooks/w`, '', { headers, chunks })).status).toBe(200);
    });

    it('NR-05 a stalled sender holds no reservation', async () => {
      await deploy(hook());
      const socket = connect(nodeRed.port, '127.0.0.1');
      await once(socket, 'connect');
      socket.write('POST /api/hooks/w HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n0123456789');
      expect((await callHook(nodeRed, 'w', {})).status).toBe(200);
      expect(await source()).toMatchObject({ in_flight: 0 });
      socket.destroy();
      await waitFor('the broken request to be counted', async () => (await source())['interrupted'] === 1);
    });
  });

  describe('duplicates', () => {
    it('a repeat of a record that is done gets the stored verdict and no node runs', async () => {
      await deploy(hook());
      await callHook(nodeRed, 'w', { a: 1 }, { id: 'msg_d' });
      const repeat = await callHook(nodeRed, 'w', { a: 1 }, { id: 'msg_d' });
      expect(repeat.json()).toEqual({ ok: true, result: 'done', id: 'msg_d' });
      expect(sink().received).toHaveLength(1);
      expect(await source()).toMatchObject({ accepted: 1, duplicates: 1 });
    });

    it('two at once share one verdict', async () => {
      await deploy(hook({ wires: [['stuck']] }), stuck('stuck'));
      const both = [1, 2].map(() => callHook(nodeRed, 'w', { a: 1 }, { id: 'msg_twice' }));
      const { stuck: held } = nodeRed.node<ProbeStuck>('stuck');
      await waitFor('both', async () => held.length > 0 && (await source())['duplicates'] === 1);
      expect(held).toHaveLength(1);
      held.forEach((done) => done());
      expect((await Promise.all(both)).map(({ status }) => status)).toEqual([200, 200]);
    });

    it('the same id with another body is 422', async () => {
      await deploy(hook());
      await callHook(nodeRed, 'w', { a: 1 }, { id: 'msg_b' });
      expect((await callHook(nodeRed, 'w', { a: 2 }, { id: 'msg_b' })).status).toBe(422);
      expect(sink().received).toHaveLength(1);
    });

    it('remembers a permanent rejection, and tries a transient failure again', async () => {
      await deploy(hook());
      fail('permanent');
      await callHook(nodeRed, 'w', {}, { id: 'msg_bad' });
      fail('transient');
      await callHook(nodeRed, 'w', {}, { id: 'msg_later' });
      sink().finish = (_msg, _send, done) => done();
      expect((await callHook(nodeRed, 'w', {}, { id: 'msg_bad' })).status).toBe(422);
      expect((await callHook(nodeRed, 'w', {}, { id: 'msg_later' })).status).toBe(200);
      expect(
        sink().received.filter((msg) => (msg['sluice'] as { id: string }).id === 'msg_bad'),
      ).toHaveLength(1);
    });

    it('remembers across a redeploy of the node', async () => {
      await deploy(hook());
      await callHook(nodeRed, 'w', { a: 1 }, { id: 'msg_redeploy' });
      await deploy(hook({ name: 'renamed' }));
      await callHook(nodeRed, 'w', { a: 1 }, { id: 'msg_redeploy' });
      expect(sink().received).toHaveLength(0);
    });

    it('does not merge equal bodies of a sender without id and time', async () => {
      await deploy(hook({ scheme: 'shopify', credentials: { secret: 'sh' } }));
      const body = '{"same":true}';
      const headers = { 'x-shopify-hmac-sha256': createHmac('sha256', 'sh').update(body).digest('base64') };
      for (let call = 0; call < 2; call += 1) {
        expect((await post(`${nodeRed.url}/api/hooks/w`, body, { headers })).status).toBe(200);
      }
      expect(sink().received).toHaveLength(2);
    });

    it('dedupeHours 0 remembers nothing', async () => {
      await deploy(hook({ dedupeHours: 0 }));
      await callHook(nodeRed, 'w', {}, { id: 'msg_again' });
      await callHook(nodeRed, 'w', {}, { id: 'msg_again' });
      expect(sink().received).toHaveLength(2);
    });
  });

  describe('ingest-api', () => {
    it('O24 takes a record with its token; the path id is its key, Idempotency-Key goes before it', async () => {
      await deploy(ingest('api'));
      expect((await send('api/42', { a: 1 })).json()).toEqual({ ok: true, result: 'done', id: '42' });
      expect((await send('api/43', { a: 1 }, { 'idempotency-key': 'k-1' })).json()).toMatchObject({
        id: 'k-1',
      });
      expect((await send('api/44', { a: 1 }, { 'idempotency-key': 'k-1' })).status).toBe(200);
      expect(sink().received).toHaveLength(2);
    });

    it('a wrong or missing token is 401 without detail, before the body is read', async () => {
      await deploy(ingest('api'));
      for (const authorization of ['Bearer wrong', 'Basic abc', '']) {
        const answer = await send('api/1', {}, { authorization });
        expect([answer.status, answer.text]).toEqual([401, '{"ok":false,"result":"unauthorized"}']);
      }
      expect((await send('nobody/1', {})).status).toBe(404);
    });

    it('O2 O68 refuses with 503 and Retry-After where a webhook would', async () => {
      await deploy(ingest('api', { maxInFlight: 1, wires: [['stuck']] }), stuck('stuck'));
      const first = send('api/first', {});
      await waitFor('the record', () => nodeRed.node<ProbeStuck>('stuck').stuck.length === 1);
      const answer = await send('api/second', {});
      expect(answer.status).toBe(503);
      expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
      nodeRed.node<ProbeStuck>('stuck').stuck.forEach((done) => done());
      await first;
    });

    it('without a token it does not start', async () => {
      await deploy(ingest('api', { credentials: {} }));
      expect((await send('api/1', {})).status).toBe(503);
    });
  });

  describe('starting and deploying', () => {
    const watchStatus = () => {
      const shown: { id: string; status: { fill?: string; text?: string } }[] = [];
      const listen = (event: (typeof shown)[number]) => shown.push(event);
      nodeRed.RED.events.on('node-status', listen);
      return { shown, stop: () => nodeRed.RED.events.off('node-status', listen) };
    };

    it('C12 a webhook without a secret does not start, says so in red and lets its senders keep their records', async () => {
      const { shown, stop } = watchStatus();
      await deploy(hook({ credentials: {} }));
      stop();
      const last = shown.filter(({ id }) => id === 'w').at(-1);
      expect(last?.status).toMatchObject({
        fill: 'red',
        text: 'no secret',
      });
      const answer = await callHook(nodeRed, 'w', {}, { secret: SECRET });
      expect(answer.status).toBe(503);
      expect(answer.json()).toEqual({ ok: false, result: 'retry', sink: 'flow', retry_after_secs: 5 });
      expect((await callHook(nodeRed, 'nobody', {})).status).toBe(404);
      await deploy(hook());
      expect((await callHook(nodeRed, 'w', {})).status).toBe(200);
      await deploy(hook({ hook: 'other' }));
      expect((await callHook(nodeRed, 'w', {})).status).toBe(404);
    });

    it.each([
      ['signed-webhook', 'w', { secret: '${SLUICE_TEST_UNSET}' }],
      ['ingest-api', 'api', { token: '${SLUICE_TEST_UNSET}' }],
    ])(
      'a %s whose secret names a variable that is not set does not start',
      async (_type, id, credentials) => {
        await deploy(id === 'w' ? hook({ credentials }) : ingest(id, { credentials }));
        const headers = { authorization: 'Bearer ${SLUICE_TEST_UNSET}' };
        const path = id === 'w' ? 'hooks/w' : 'ingest/api/1';
        expect((await post(`${nodeRed.url}/api/${path}`, '{}', { headers })).status).toBe(503);
      },
    );

    it('shows in red who makes senders keep their records, and that a flow does not finish', async () => {
      const { shown, stop } = watchStatus();
      const last = () => shown.filter(({ id }) => id === 'w').at(-1)?.status;
      await deploy(hook({ wires: [['push']] }), {
        id: 'push',
        type: 'push-queue',
        z: 'tab',
        name: 'orders',
        onFull: 'block',
        maxQuotaMb: 0,
        wires: [[], []],
      });
      await callHook(nodeRed, 'w', {});
      await waitFor('the sink in the status', () => last()?.text === 'refusing: orders');
      await deploy(hook({ wires: [[]] }));
      await callHook(nodeRed, 'w', {});
      await waitFor('the flow in the status', () => last()?.text === 'flow not done');
      expect(last()?.fill).toBe('red');
      stop();
    });

    it('tells the log why a request was turned away, once', async () => {
      await deploy(hook());
      const lines: string[] = [];
      const warn = nodeRed.node('w').warn;
      nodeRed.node('w').warn = (text) => void lines.push(String(text));
      await callHook(nodeRed, 'w', {}, { secret: 'whsec_d3JvbmctdGVzdC1zZWNyZXQtb2YtMzItYnl0ZXMhISE=' });
      await callHook(nodeRed, 'w', {}, { secret: 'whsec_d3JvbmctdGVzdC1zZWNyZXQtb2YtMzItYnl0ZXMhISE=' });
      await callHook(nodeRed, 'w', '{"broken":');
      nodeRed.node('w').warn = warn;
      expect(lines).toHaveLength(2);
      expect(lines[0]).toContain('ERR_SLUICE_WEBHOOK_BAD_SIGNATURE');
      expect(lines[1]).toContain('ERR_SLUICE_BODY_NOT_JSON');
      expect(lines.join()).not.toContain('broken');
    });

    it('NR-07 a renamed hook leaves no route behind, after many deploys too', async () => {
      const layers = () =>
        (nodeRed.RED.httpNode as unknown as { _router: { stack: unknown[] } })._router.stack.length;
      await deploy(hook({ hook: 'old' }));
      const before = layers();
      for (let round = 0; round < 20; round += 1) await deploy(hook({ hook: round % 2 ? 'old' : 'new' }));
      await deploy(hook({ hook: 'new' }));
      expect((await callHook(nodeRed, 'old', {})).status).toBe(404);
      expect((await callHook(nodeRed, 'new', {})).status).toBe(200);
      expect(layers()).toBe(before);
    });

    it('NR-09 N13 a request during a deploy is told to come back, never lost', async () => {
      await deploy(hook());
      const answers: number[] = [];
      const ask = () => callHook(nodeRed, 'w', {}).then(({ status }) => void answers.push(status));
      const during: Promise<void>[] = [];
      const stopping = () => during.push(ask());
      nodeRed.RED.events.on('flows:stopping', stopping);
      nodeRed.RED.events.on('flows:stopped', stopping);
      await deploy(hook());
      await Promise.all(during);
      nodeRed.RED.events.off('flows:stopping', stopping);
      nodeRed.RED.events.off('flows:stopped', stopping);
      expect(answers.length).toBeGreaterThanOrEqual(2);
      for (const status of answers) expect([200, 503]).toContain(status);
      const done = answers.filter((status) => status === 200).length;
      expect(sink().received.length).toBeGreaterThanOrEqual(done);
    });

    it('a record in the flow when a deploy stops it is told to come back', async () => {
      await deploy(hook({ wires: [['stuck']] }), stuck('stuck'));
      const answer = callHook(nodeRed, 'w', {});
      await waitFor('the record', () => nodeRed.node<ProbeStuck>('stuck').stuck.length === 1);
      await deploy(hook());
      expect((await answer).status).toBe(503);
    });
  });
});
