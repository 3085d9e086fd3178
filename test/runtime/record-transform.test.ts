import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runtimeOf } from '#lib/node-red/runtime';
import { startStages, type Stages } from '../harness/stages';

let stages: Stages;
beforeAll(async () => {
  stages = await startStages();
});
afterAll(() => stages.stop());

const failedWith = (code: string, text: string) => ({
  code: `ERR_SLUICE_TRANSFORM_${code}`,
  stage: 'SqlEval',
  failure: 'permanent',
  message: expect.stringContaining(text) as string,
});

describe('R5 record-transform in JSONata', () => {
  const deploy = (expression: string, name = '') => stages.deploy('record-transform', { expression, name });

  it('makes a new payload of the message', async () => {
    const stage = await deploy('{"id": payload.id, "dev_norm": $abs(payload.dev), "from": topic}');
    const [record] = await stage.pass({ payload: { id: 1, dev: -2 }, topic: 'plant' });
    expect(record).toMatchObject({ payload: { id: 1, dev_norm: 2, from: 'plant' }, topic: 'plant' });
  });

  it('filters a record out where the result is nothing: done, and counted', async () => {
    const stage = await deploy('payload[temp > 0]', 'warm only');
    await stage.filter({ payload: { temp: -5 } });
    expect(await stage.pass({ payload: { temp: 5 } })).toMatchObject([{ payload: { temp: 5 } }]);
    const text = await runtimeOf(stages.nodeRed.RED).metrics.render();
    expect(text).toContain('sluice_records_suppressed_total{node="warm only"} 1');
  });

  it.each([
    ['payload.a / payload.b', { a: 1, b: 0 }, 'NUMBER', 'Infinity'],
    ['payload.a / payload.b', { a: 0, b: 0 }, 'NUMBER', 'NaN'],
    ['{"x": [payload.a / payload.b]}', { a: 1, b: 0 }, 'NUMBER', 'Infinity'],
    ['$power(payload.a, 400)', { a: 10 }, 'FAILED', 'cannot be represented'],
    ['$number(payload.a)', { a: 'hot' }, 'FAILED', 'number'],
    ['payload.a + 1', { a: 'hot' }, 'FAILED', '"+"'],
    ['function($x){$x}', {}, 'FAILED', 'function'],
    ['$abs', {}, 'FAILED', 'function'],
    ['$error("no good")', {}, 'FAILED', 'no good'],
  ])('fails %s on %j for good, with its tuple, and goes on', async (expression, payload, code, text) => {
    const stage = await deploy(expression);
    expect(await stage.fail({ payload })).toMatchObject({ ...failedWith(code, text), tuple: payload });
  });

  it('turns red at the deploy for a syntax error', async () => {
    const stage = await deploy('payload.(');
    expect(await stage.status('red')).toBe('check the expression');
    expect(await stage.fail({ payload: 1 })).toMatchObject({ code: 'ERR_SLUICE_TRANSFORM_EXPRESSION' });
  });
});

describe('R5 record-transform in SQL', () => {
  const COLUMNS = '{"id":"bigint","temp":"float","dev":"float","n":"int","tags":"any"}';
  const deploy = (expression: string, saved: Record<string, unknown> = {}) =>
    stages.deploy('record-transform', { language: 'sql', expression, columns: COLUMNS, ...saved });

  it('evaluates the rule of the dead-letter document', { timeout: 90_000 }, async () => {
    const stage = await deploy('SELECT id, temp, abs(dev) AS dev_norm FROM sensor_stream');
    expect(await stage.pass({ payload: { id: 101, temp: 21.5, dev: -2 }, topic: 'plant' })).toMatchObject([
      { payload: { id: 101, temp: 21.5, dev_norm: 2 }, topic: 'plant' },
    ]);
    expect(await stage.status('green')).toBe('sluice.stage.ready');
    const bad = { id: 101, temp: 1, dev: 'sensor_A' };
    expect(await stage.fail({ payload: bad })).toMatchObject({
      ...failedWith('FAILED', 'invalid input syntax for type double precision: "sensor_A"'),
      tuple: bad,
    });
  });

  it('filters by WHERE, and gives a message for each of several rows', async () => {
    const stage = await deploy(
      'SELECT id, t.value AS tag FROM s, jsonb_array_elements_text(s.tags) AS t WHERE temp > 0',
    );
    await stage.filter({ payload: { id: 1, temp: -1, tags: ['a'] } });
    await stage.filter({ payload: { id: 1, tags: ['a'] } });
    const records = await stage.pass({ payload: { id: 1, temp: 1, tags: ['b', 'a'] } }, 2);
    expect(records.map(({ payload }) => payload)).toEqual([
      { id: 1, tag: 'b' },
      { id: 1, tag: 'a' },
    ]);
  });

  it.each([
    ['SELECT 1 / n AS x FROM s', { n: 0 }, 'division by zero'],
    ['SELECT temp / 0 AS x FROM s', { temp: 1 }, 'division by zero'],
    ['SELECT exp(temp) AS x FROM s', { temp: 1e6 }, 'out of range'],
    ['SELECT id * 10 AS x FROM s', { id: '9223372036854775807' }, 'out of range'],
    ['SELECT id AS x FROM s', { id: 1.5 }, 'invalid input syntax for type bigint'],
    [`SELECT CAST('x' || n AS int) AS x FROM s`, { n: 1 }, 'invalid input syntax'],
    ['SELECT id AS x FROM s', 'no object', 'no object'],
    ['SELECT tags AS x FROM s', { tags: ['\u0000'] }, '(SQLSTATE 22P05)'],
    ['SELECT tags AS x FROM s', { tags: ['\ud83d'] }, '(SQLSTATE'],
  ])('fails %s on %j for good', async (expression, payload, text) => {
    const stage = await deploy(expression);
    expect(await stage.fail({ payload })).toMatchObject({ ...failedWith('FAILED', text), tuple: payload });
  });

  it('keeps numbers that JavaScript can’t hold, digit by digit', async () => {
    const stage = await deploy('SELECT id, id::numeric * 1000 AS big, 0.1::numeric AS small FROM s');
    expect(await stage.pass({ payload: { id: '9223372036854775807' } })).toMatchObject([
      { payload: { id: '9223372036854775807', big: '9223372036854775807000', small: 0.1 } },
    ]);
  });

  it('evaluates each record for itself: bad ones leave their mates alone, and nothing mixes two', async () => {
    const stage = await deploy(
      'SELECT id, 100 / n AS x, count(*) OVER () AS rows FROM s ORDER BY id DESC LIMIT 1',
    );
    const runs = Array.from({ length: 60 }, (_, id) =>
      id % 7 === 3
        ? stage.fail({ payload: { id, n: 0 } }).then((error) => expect(error.message).toContain('zero'))
        : stage.end({ payload: { id, n: id + 1 } }).then((error) => expect(error).toBeUndefined()),
    );
    await Promise.all(runs);
    const made = stage.payloads() as { id: number; x: number; rows: number }[];
    expect(made.length).toBe(60 - 9);
    for (const { id, x, rows } of made) expect([x, rows]).toEqual([Math.trunc(100 / (id + 1)), 1]);
  });

  it('ends an evaluation that takes too long, and fails only its record', { timeout: 120_000 }, async () => {
    const stage = await deploy('SELECT id, (SELECT count(*) FROM generate_series(1, n)) AS c FROM s', {
      timeoutMs: 1000,
    });
    await stage.pass({ payload: { id: 0, n: 1 } });
    const good = stage.end({ payload: { id: 1, n: 10 } });
    expect(await stage.end({ payload: { id: 2, n: 1e12 } })).toMatchObject(failedWith('TIMEOUT', '1000 ms'));
    expect(await good).toBeUndefined();
    expect(await stage.pass({ payload: { id: 3, n: 5 } })).toMatchObject([{ payload: { id: 3, c: 5 } }]);
  });

  it.each([
    ['SELEC id FROM s', {}, 'check the expression'],
    ['SELECT id FROM s; DELETE FROM s', {}, 'check the expression'],
    ['SELECT gone FROM s', {}, 'check the expression'],
    ['SELECT id, temp AS id FROM s', {}, 'check the expression'],
    ['SELECT id + 1 FROM s', {}, 'check the expression'],
    ['SELECT a.id FROM one a, two b', {}, 'check the expression'],
    ['WITH x AS (DELETE FROM pg_class RETURNING 1) SELECT 1 AS y FROM s', {}, 'check the expression'],
    ['SELECT id INTO kept FROM s', {}, 'check the expression'],
    ['SELECT id FROM s', { columns: '{"id":"floot"}' }, 'check the columns'],
    ['SELECT id FROM s', { columns: '' }, 'check the settings'],
  ])('turns red at the deploy for %s', async (expression, saved, text) => {
    const stage = await deploy(expression, saved);
    expect(await stage.status('red')).toBe(text);
    expect(await stage.fail({ payload: { id: 1 } })).toMatchObject({ name: 'ConfigError' });
  });
});
