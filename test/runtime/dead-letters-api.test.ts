import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { sluice } from '../harness/cli';
import { deadLettersOf, dlq, lettersOf, step } from '../harness/dead-letters';
import { probe, probeNodes, tab, type ProbeSink } from '../harness/probe';
import { startNodeRed, type RunningNodeRed } from '../harness/node-red';
import { waitFor } from '../harness/wait';
import { callHook, webhook } from '../harness/webhook';

let nodeRed: RunningNodeRed;
let tabs = 0;
/** A tab of its own for each test: rules count from the start of the runtime. */
let rule = '';
beforeAll(async () => {
  nodeRed = await startNodeRed({
    nodesDir: [probeNodes],
    settings: { sluice: { documentPaths: true } },
  });
});
afterAll(() => nodeRed.stop());
afterEach(() => nodeRed.deploy([]));

interface Step extends ProbeSink {
  broken: boolean;
}
const received = (id: string) => nodeRed.node<ProbeSink>(id).received;

async function ask(method: string, path: string, body?: unknown, type = 'application/json') {
  const response = await fetch(`${nodeRed.url}${path}`, {
    method,
    ...(body === undefined
      ? {}
      : { body: typeof body === 'string' ? body : JSON.stringify(body), headers: { 'content-type': type } }),
  });
  const text = await response.text();
  return { status: response.status, body: JSON.parse(text) as Record<string, unknown>, text };
}

async function deployRule(properties: Record<string, unknown> = {}): Promise<void> {
  rule = `rule-${(tabs += 1)}`;
  await nodeRed.deploy([
    tab(rule, `label of ${rule}`),
    webhook('hook', { z: rule, wires: [['step']] }),
    step('step', ['sink'], { z: rule }),
    probe('sink', rule),
    dlq('dlq', { z: rule, ...properties }),
  ]);
}

/** Fails once and gives the id of its dead letter. */
async function failOnce(body: object, id?: string): Promise<number> {
  await callHook(nodeRed, 'hook', body, id === undefined ? {} : { id });
  const [letter] = await lettersOf(nodeRed, { rule });
  return letter?.id ?? 0;
}

const mend = () => (nodeRed.node<Step>('step').broken = false);

describe('the dead letters’ API', () => {
  it('R19 R20 tells a rule’s errors by stage, by its id, its label and the document’s own path', async () => {
    await deployRule();
    await failOnce({ fail: 'SchemaValidation', n: 1 });
    await failOnce({ fail: 'permanent' });
    const { body, status } = await ask('GET', `/sluice/rules/${rule}/errors`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      rule_id: rule,
      total_errors: 2,
      codec_decode: 0,
      schema_validation: 1,
      sql_eval: 1,
      data_template: 0,
      sink_delivery: 0,
      sink_failures: 0,
      recent_errors: [{ stage: 'SqlEval' }, { rule_id: rule, stage: 'SchemaValidation', tuple: { n: 1 } }],
    });
    const [, first] = body['recent_errors'] as Record<string, unknown>[];
    expect(Object.values(first!)).not.toContain('');
    expect(first).not.toHaveProperty('sink_type');
    expect((await ask('GET', `/rules/${encodeURIComponent(`label of ${rule}`)}/errors`)).body).toEqual(body);
  });

  it('R22 DL-13 clears the recent errors, not the counters or the dead letters', async () => {
    await deployRule();
    for (let n = 0; n < 5; n += 1) await failOnce({ fail: 'SqlEval', n });
    expect((await ask('DELETE', `/sluice/rules/${rule}/errors`)).body).toMatchObject({
      ok: true,
      cleared: 5,
    });
    expect((await ask('GET', `/sluice/rules/${rule}/errors`)).body).toMatchObject({
      total_errors: 5,
      sql_eval: 5,
      recent_errors: [],
    });
    expect(await lettersOf(nodeRed, { rule })).toHaveLength(5);
  });

  it('replays a record to the node that failed, with its id, and resolves its letter', async () => {
    await deployRule();
    const id = await failOnce({ fail: 'SqlEval', n: 7 }, 'msg-replay');
    expect((await ask('POST', `/sluice/dlq/${id}/replay`)).body).toMatchObject({ ok: false, state: 'open' });
    mend();
    expect((await ask('POST', `/sluice/dlq/${id}/replay`)).body).toEqual({
      ok: true,
      id: String(id),
      state: 'resolved',
    });
    expect(received('sink')).toMatchObject([
      { payload: { n: 7 }, sluice: { id: 'msg-replay', source: 'hook' } },
    ]);
    expect((await ask('GET', `/sluice/dlq/${id}`)).body).toMatchObject({
      state: 'resolved',
      replay_count: 2,
    });
    expect(await lettersOf(nodeRed, { rule })).toHaveLength(1);
  });

  it('replays from the source, and with an edited payload', async () => {
    await deployRule();
    const id = await failOnce({ fail: 'SqlEval' });
    const answer = await ask('POST', `/sluice/dlq/${id}/replay`, { to: 'source', payload: { edited: 1 } });
    expect(answer.body).toMatchObject({ ok: true, state: 'resolved' });
    expect(received('sink')).toMatchObject([{ payload: { edited: 1 } }]);
  });

  it('DL-17 sends once when two operators replay the same letter at once', async () => {
    await deployRule();
    const id = await failOnce({ fail: 'SqlEval' });
    mend();
    const answers = await Promise.all([1, 2].map(() => ask('POST', `/sluice/dlq/${id}/replay`)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect(received('sink')).toHaveLength(1);
    expect(answers.find(({ status }) => status === 409)?.body).toMatchObject({
      error: { code: 'ERR_SLUICE_LETTER_STATE' },
    });
  });

  it('offers the source when the node that failed is gone', async () => {
    await deployRule();
    const id = await failOnce({ fail: 'SqlEval', n: 1 });
    await nodeRed.deploy([
      tab(rule),
      webhook('hook', { z: rule, wires: [['sink']] }),
      probe('sink', rule),
      dlq('dlq', { z: rule }),
    ]);
    const refused = await ask('POST', `/sluice/dlq/${id}/replay`);
    expect(refused.status).toBe(409);
    expect(refused.body).toMatchObject({ error: { code: 'ERR_SLUICE_LETTER_NODE_GONE' } });
    expect(refused.text).toContain('from its source');
    expect((await ask('POST', `/sluice/dlq/${id}/replay`, { to: 'source' })).body).toMatchObject({
      ok: true,
    });
    expect(received('sink')).toHaveLength(1);
  });

  it('resolves and discards by hand, once', async () => {
    await deployRule();
    const id = await failOnce({ fail: 'SqlEval', n: 1 });
    expect((await ask('POST', `/sluice/dlq/${id}/resolve`)).body).toMatchObject({
      ok: true,
      state: 'resolved',
    });
    expect((await ask('POST', `/sluice/dlq/${id}/discard`)).status).toBe(409);
    const other = await failOnce({ fail: 'SqlEval', n: 2 });
    expect((await ask('POST', `/sluice/dlq/${other}/discard`)).body).toMatchObject({ state: 'discarded' });
    const listed = await ask('GET', `/sluice/dlq?rule=${rule}&state=discarded`);
    expect(listed.body['dead_letters']).toMatchObject([
      { id: String(other), stage: 'SqlEval', place: 'pipeline' },
    ]);
  });

  it('R19 a label that two rules have is answered with their ids, whatever is asked of it', async () => {
    const twins = ['twin-1', 'twin-2'];
    await nodeRed.deploy(twins.map((id) => tab(id, 'one of "two" 🐘')));
    const label = encodeURIComponent('one of "two" 🐘');
    const asked = await Promise.all([
      ask('GET', `/sluice/rules/${label}/errors`),
      ask('DELETE', `/sluice/rules/${label}/errors`),
      ask('POST', `/sluice/rules/${label}/start`),
      ask('GET', `/sluice/dlq?rule=${label}`),
      ask('POST', '/sluice/dlq/redrive', { rule: 'one of "two" 🐘' }),
    ]);
    for (const { status, body } of asked) {
      expect([status, body]).toMatchObject([
        409,
        { ok: false, error: { code: 'ERR_SLUICE_RULE_AMBIGUOUS' } },
      ]);
      for (const id of twins) expect(JSON.stringify(body)).toContain(id);
    }
    expect((await ask('GET', '/sluice/rules/twin-2/errors')).status).toBe(200);
  });

  it.each([
    ['GET', '/sluice/rules/nowhere/errors', undefined, 404, 'ERR_SLUICE_RULE_UNKNOWN'],
    ['POST', '/sluice/rules/nowhere/start', undefined, 404, 'ERR_SLUICE_RULE_UNKNOWN'],
    ['GET', '/sluice/dlq/999999', undefined, 404, 'ERR_SLUICE_LETTER_UNKNOWN'],
    ['POST', '/sluice/dlq/nonsense/replay', {}, 404, 'ERR_SLUICE_LETTER_UNKNOWN'],
    ['POST', '/sluice/dlq/999999/resolve', undefined, 404, 'ERR_SLUICE_LETTER_UNKNOWN'],
    ['POST', '/sluice/dlq/1/replay', [], 400, 'ERR_SLUICE_LETTER_REQUEST'],
    ['POST', '/sluice/dlq/1/replay', { to: 'moon' }, 400, 'ERR_SLUICE_LETTER_REQUEST'],
    ['POST', '/sluice/dlq/redrive', { rate: 'fast' }, 400, 'ERR_SLUICE_LETTER_REQUEST'],
    ['GET', '/sluice/dlq?stage=Nine', undefined, 400, 'ERR_SLUICE_LETTER_REQUEST'],
    ['GET', '/sluice/dlq?limit=0', undefined, 400, 'ERR_SLUICE_API_QUERY'],
  ])('answers %s %s clearly', async (method, path, body, status, code) => {
    await deployRule();
    const answer = await ask(method, path, body);
    expect(answer.status).toBe(status);
    expect(answer.body).toMatchObject({ ok: false, error: { code } });
  });

  it('answers a replay whose body isn’t JSON clearly, and sends nothing', async () => {
    await deployRule();
    const id = await failOnce({ fail: 'SqlEval' });
    mend();
    const answer = await ask('POST', `/sluice/dlq/${id}/replay`, 'payload=1', 'text/plain');
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ error: { code: 'ERR_SLUICE_LETTER_REQUEST' } });
    expect(received('sink')).toHaveLength(0);
  });

  it('redrives what is open, oldest first, with a dry run and progress', async () => {
    await deployRule();
    for (let n = 0; n < 12; n += 1) await failOnce({ fail: n % 2 ? 'SqlEval' : 'CodecDecode', n });
    mend();
    const body = { rule: `label of ${rule}`, stage: 'SqlEval' };
    expect((await ask('POST', '/sluice/dlq/redrive', { ...body, dry_run: true })).body).toMatchObject({
      total: 6,
    });
    const events: unknown[] = [];
    const onEvent = (progress: unknown) => events.push(progress);
    nodeRed.RED.events.on('sluice:redrive', onEvent);
    const begun = await ask('POST', '/sluice/dlq/redrive', { ...body, rate: 1000 });
    expect(begun.body).toMatchObject({ ok: true, redrive: { total: 6 } });
    await waitFor('the redrive to end', async () => {
      const { redrive } = (await ask('GET', '/sluice/dlq/redrive')).body as { redrive: { state: string } };
      return redrive.state === 'done';
    });
    nodeRed.RED.events.off('sluice:redrive', onEvent);
    expect(events.at(-1)).toMatchObject({ state: 'done', resolved: 6, failed: 0 });
    expect(received('sink').map(({ payload }) => (payload as { n: number }).n)).toEqual([1, 3, 5, 7, 9, 11]);
    expect(await lettersOf(nodeRed, { rule, state: 'open' })).toHaveLength(6);
  });

  it('a redrive leaves alone what failed too often, and never meets what it fails itself', async () => {
    await deployRule();
    await failOnce({ fail: 'SqlEval' });
    const { redrive } = deadLettersOf(nodeRed);
    for (let round = 1; round <= 6; round += 1) {
      await redrive.start({ filter: { rule }, rate: 1000 });
      await waitFor('the round to end', () => redrive.progress?.state === 'done');
      expect(redrive.progress).toMatchObject(round <= 5 ? { failed: 1 } : { skipped: 1, failed: 0 });
    }
    expect(await lettersOf(nodeRed, { rule })).toMatchObject([{ state: 'open', replays: 5 }]);
  });

  it('R24 R27 the command line shows, clears, replays, redrives and starts', async () => {
    await deployRule({ onError: 'halt' });
    const id = await failOnce({ fail: 'SqlEval', n: 1 });
    const env = { SLUICE_URL: nodeRed.url };
    for (const name of ['errors', 'dlq']) {
      const { status, stdout } = await sluice([name, rule], env);
      expect(status, stdout).toBe(0);
      expect(stdout).toContain('failed at SqlEval');
    }
    expect(await sluice(['errors', rule, '--json'], env)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('"total_errors": 1') as string,
    });
    expect(await sluice(['replay', String(id)], env)).toMatchObject({ status: 1 });
    expect(await sluice(['start', rule], env)).toMatchObject({ stdout: `${rule} runs again\n`, status: 0 });
    mend();
    expect(await sluice(['redrive', rule, '--dry-run'], env)).toMatchObject({
      stdout: '1 dead letters would be sent again\n',
    });
    expect(await sluice(['redrive', rule, '--rate', '100'], env)).toMatchObject({
      status: 0,
      stdout: 'done: 1 of 1 resolved, 0 failed, 0 left alone\n',
    });
    expect(received('sink')).toHaveLength(1);
    expect(await sluice(['dlq', rule, '--clear'], env)).toMatchObject({
      stdout: `${rule}: 1 recent errors cleared\n`,
    });
    expect(await sluice(['errors', 'nowhere'], env)).toMatchObject({ status: 2 });
  });
});
