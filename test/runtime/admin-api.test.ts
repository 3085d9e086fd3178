import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runtimeOf } from '#lib/node-red/runtime';
import { sluice } from '../harness/cli';
import { startNodeRed, type RunningNodeRed } from '../harness/node-red';
import { probe, probeNodes, tab } from '../harness/probe';
import { megabytes, queue } from '../harness/queue';
import { waitFor } from '../harness/wait';
import { callHook, webhook } from '../harness/webhook';

/** A name that would break a line, a label, a table and a terminal. */
const NASTY = 'a"b\\c\nd 😊\u001b[31m';

let nodeRed: RunningNodeRed;
beforeAll(async () => {
  nodeRed = await startNodeRed({
    nodesDir: [probeNodes],
    settings: { sluice: { documentPaths: true } },
  });
  await nodeRed.deploy([
    tab(),
    webhook('orders', { wires: [['full']] }),
    queue('full', { name: 'orders queue', maxQuotaMb: megabytes(100) }),
    queue('nasty', { name: NASTY, onFull: 'evict_oldest' }),
    { id: 'rest', type: 'rest-sink', z: 'tab', url: 'http://127.0.0.1:9/', wires: [[]] },
    probe('end'),
  ]);
  await waitFor('the queues to open', () =>
    runtimeOf(nodeRed.RED).registry.sinks.every((sink) => sink.status()['state'] !== 'opening'),
  );
  nodeRed.node('full').receive({ payload: 'x'.repeat(300) });
  const { registry } = runtimeOf(nodeRed.RED);
  await waitFor('the full queue', () => registry.sinks.some((sink) => sink.status().level === 'full'));
});
afterAll(() => nodeRed.stop());

interface OpenApi {
  readonly openapi: string;
  readonly paths: Record<
    string,
    Record<string, { responses: Record<string, { content?: Record<string, { schema: object }> }> }>
  >;
  readonly components: { schemas: { Error: object } };
}

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${nodeRed.url}${path}`, { headers });
const json = async (path: string) => (await (await get(path)).json()) as Record<string, unknown>;

describe('the admin API', () => {
  it('describes itself as OpenAPI 3.1, and its answers are what it says', async () => {
    const document = (await json('/sluice/openapi.json')) as unknown as OpenApi;
    expect(document.openapi).toBe('3.1.0');
    const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
    const ids: Record<string, string> = {
      '/api/reach/{id}': 'orders',
      '/queues/{id}/records': 'full',
      '/rules/{id}/errors': 'tab',
    };
    const checked: string[] = [];
    for (const [path, { get: operation }] of Object.entries(document.paths)) {
      if (path === '/dlq/{id}') continue;
      const schema = operation?.responses['200']?.content?.['application/json']?.schema;
      if (!schema) continue;
      const answer = await json(`/sluice${path.replace('{id}', ids[path] ?? 'none')}`);
      const isValid = ajv.compile(schema);
      expect(isValid(answer), `${path}: ${JSON.stringify(isValid.errors)}`).toBe(true);
      checked.push(path);
    }
    expect(checked).toEqual(
      expect.arrayContaining([
        '/api/status',
        '/api/schedules',
        '/api/reach/{id}',
        '/ops/health',
        '/queues',
        '/queues/{id}/records',
        '/openapi.json',
      ]),
    );
  });

  it('F21 lists what waits in a queue, by its id, name or file, with the payload only for who asks and may', async () => {
    const records = async (path: string) =>
      (await json(`/sluice/queues/${path}`)) as { total: number; records: Record<string, unknown>[] };
    const listed = await records('full/records');
    expect(listed).toMatchObject({
      total: 1,
      records: [{ state: 'queued', attempts: 0, age_secs: expect.any(Number) as number }],
    });
    expect(JSON.stringify(listed)).not.toContain('xxx');
    const [shown] = (await records('full/records?payload=true')).records;
    expect(shown?.['msg']).toMatchObject({ payload: 'x'.repeat(300) });
    expect(await records('orders%20queue/records?limit=1')).toMatchObject({ total: 1 });
  });

  it('O40 O41 shows the queue with the documents’ fields, twice', async () => {
    const status = await json('/sluice/api/status');
    expect(status['push_queue']).toMatchObject({
      on_full: 'block',
      quota_bytes: 100,
      blocking: true,
      blocked_total: 0,
      evicted_total: 0,
      level: 'full',
    });
    expect((status['push_queue'] as { fill_pct: number }).fill_pct).toBeGreaterThan(100);
    expect(status['push_status']).toEqual(status['push_queue']);
  });

  it('O23 O42 counts what a webhook refused, and shows refused apart from lost at every sink', async () => {
    const answer = await callHook(nodeRed, 'orders', { n: 1 });
    expect(answer.status).toBe(503);
    const status = (await json('/sluice/api/status')) as {
      engine: { webhooks: Record<string, unknown>[]; stats: object };
      sinks: Record<string, unknown>[];
    };
    expect(status.engine.webhooks).toMatchObject([{ id: 'orders', backpressured: 1 }]);
    expect(status.engine.stats).toMatchObject({ backpressured: 1, backpressure_lost: 0 });
    for (const sink of status.sinks) {
      expect(sink).toMatchObject({ dropped: 0, blocked: sink['id'] === 'full' ? 1 : 0 });
    }
  });

  it('F6 F20 health has the depth of each queue with its limit, and what is wrong', async () => {
    runtimeOf(nodeRed.RED).alerts.check();
    expect(await json('/sluice/ops/health')).toMatchObject({
      ok: false,
      ready: true,
      router_queue: 0,
      routing_failed_queue: 0,
      routing_retry_queue: 0,
      workers: [],
      queues: expect.arrayContaining([
        expect.objectContaining({ id: 'rest', queue_depth: 0, queue_limit: 1024 }),
        expect.objectContaining({ id: 'full', queue_depth: 1, queue_limit_bytes: 100 }),
      ]) as unknown,
      problems: [{ kind: 'queue', what: 'block', level: 'full', place: { id: 'full' } }],
    });
  });

  it('serves the documents’ own paths where that is set', async () => {
    for (const path of ['/api/status', '/ops/health', '/api/schedules', '/metrics']) {
      expect((await get(path)).status, path).toBe(200);
    }
  });

  it.each([
    ['/sluice/api/reach/none', 404, 'ERR_SLUICE_SOURCE_UNKNOWN'],
    ['/sluice/queues/none/records', 404, 'ERR_SLUICE_QUEUE_UNKNOWN'],
    ['/sluice/queues/full/records?limit=10000000', 400, 'ERR_SLUICE_API_QUERY'],
    ['/sluice/queues/full/records?limit=-1', 400, 'ERR_SLUICE_API_QUERY'],
    ['/sluice/queues/full/records?limit=ten', 400, 'ERR_SLUICE_API_QUERY'],
  ])('answers %s with %i and %s', async (path, status, code) => {
    const answer = await get(path);
    expect([answer.status, await answer.json()]).toEqual([
      status,
      { ok: false, error: { code, message: expect.any(String) as string } },
    ]);
  });

  it('answers a mistake of its own without a word of what it was', async () => {
    const { registry } = runtimeOf(nodeRed.RED);
    const remove = registry.addSource({
      id: 'broken',
      name: 'broken',
      type: 'broken',
      z: 'tab',
      entry: false,
      status: () => {
        throw new Error('secret-in-a-stack');
      },
      pause: () => undefined,
      resume: () => undefined,
    });
    const answer = await get('/sluice/api/status');
    remove();
    expect(answer.status).toBe(500);
    const text = await answer.text();
    expect(text).toContain('ERR_SLUICE_API_FAILED');
    expect(text).not.toContain('secret-in-a-stack');
  });
});

describe('sluice status and health', () => {
  const server = () => ({ SLUICE_URL: nodeRed.url });

  it('print tables, JSON with --json, and fail while something is wrong', async () => {
    const shown = await sluice(['status'], server());
    expect(shown).toMatchObject({ status: 0, stderr: '' });
    expect(shown.stdout).toMatch(/push-queue orders queue .*full/);
    expect(shown.stdout).not.toContain('\u001b[31m');
    expect(shown.stdout).toContain('a"b\\c\\u000ad 😊\\u001b[31m');
    const asJson = await sluice(['status', '--json', '--url', `${nodeRed.url}/`]);
    expect(JSON.parse(asJson.stdout)).toMatchObject({ ready: true, push_queue: { level: 'full' } });
    const health = await sluice(['health'], server());
    expect(health.status).toBe(1);
    expect(health.stdout).toMatch(/full: push-queue orders queue: queue block/);
    expect(JSON.parse((await sluice(['health', '--json'], server())).stdout)).toMatchObject({ ok: false });
  });

  it('F21 queue dump lists what waits, in all queues or one, and refuses an unknown one', async () => {
    const all = await sluice(['queue', 'dump'], server());
    expect(all).toMatchObject({ status: 0, stderr: '' });
    expect(all.stdout).toMatch(/push-queue orders queue: 1 waiting/);
    const one = await sluice(['queue', 'dump', 'full', '--json', '--limit', '5'], server());
    expect(JSON.parse(one.stdout)).toMatchObject([{ total: 1, records: [{ state: 'queued', attempts: 0 }] }]);
    const unknown = await sluice(['queue', 'dump', 'no such'], server());
    expect([unknown.status, unknown.stderr]).toEqual([
      2,
      expect.stringContaining('ERR_SLUICE_QUEUE_UNKNOWN'),
    ]);
    expect((await sluice(['queue', 'dump', 'full', '--limit', '10000000'], server())).status).toBe(2);
  });

  it('N23 grafana and rules print what fits the running flows, whatever its names', async () => {
    const rules = await sluice(['rules'], server());
    expect(rules.status).toBe(0);
    expect(rules.stdout).toContain('sluice_queue_level{queue=\\"nasty\\"} == 2');
    const { panels } = JSON.parse((await sluice(['grafana'], server())).stdout) as {
      panels: { title: string }[];
    };
    expect(panels.map(({ title }) => title)).toEqual(
      expect.arrayContaining(['full', 'nasty', 'Records of orders', `Deliveries of ${NASTY}`]),
    );
  });

  it('exit with 2 and say why, where nothing answers or something else does', async () => {
    const nobody = await sluice(['status', '--url', 'http://127.0.0.1:9']);
    expect(nobody.status).toBe(2);
    expect(nobody.stderr).toContain('ERR_SLUICE_CLI_UNREACHABLE');
    const elsewhere = await sluice(['status', '--url', `${nodeRed.url}/nowhere`]);
    expect(elsewhere.status).toBe(2);
    expect(elsewhere.stderr).toMatch(/httpAdminRoot.*ERR_SLUICE_CLI_REFUSED/);
    expect((await sluice(['status', '--url', 'no url'])).status).toBe(2);
    expect((await sluice(['stats'])).status).toBe(2);
  });
});
