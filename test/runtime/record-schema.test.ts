import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runtimeOf } from '#lib/node-red/runtime';
import { startStages, type Stages } from '../harness/stages';

let stages: Stages;
beforeAll(async () => {
  stages = await startStages();
});
afterAll(() => stages.stop());

const schema = '{"id":"bigint","temp":"float","dev":"string"}';
const bad = { id: 101, temp: 'invalid_float', dev: 'sensor_A' };

describe('record-schema in Node-RED', () => {
  it('R4 R21 fails a record of another type with its tuple, its bytes and the document’s words', async () => {
    const stage = await stages.deploy('record-schema', { schema, onInvalid: 'fail' });
    const raw = Buffer.from(JSON.stringify(bad));
    expect(await stage.fail({ payload: bad, raw })).toMatchObject({
      code: 'ERR_SLUICE_SCHEMA_MISMATCH',
      message: `Field 'temp' expected type 'float', got: "invalid_float"`,
      stage: 'SchemaValidation',
      failure: 'permanent',
      tuple: bad,
      raw,
    });
    const good = { ...bad, temp: 1 };
    expect(await stage.pass({ payload: good })).toMatchObject([{ payload: good }]);
  });

  it('R10 sets what does not fit to null on a tab that drops, and counts it', async () => {
    const stage = await stages.deploy('record-schema', { schema, name: 'readings' });
    expect(await stage.pass({ payload: bad })).toMatchObject([
      { payload: { id: 101, temp: null, dev: 'sensor_A' }, nullified: ['temp'] },
    ]);
    const text = await runtimeOf(stages.nodeRed.RED).metrics.render();
    expect(text).toContain('sluice_fields_nullified_total{node="readings"} 1');
  });

  it.each([
    ['drop', 'nullifies'],
    ['dlq', 'fails'],
    ['halt', 'fails'],
  ])('R10 as the rule says: on a tab whose dlq node says %s it %s', async (onError, does) => {
    const dlq = { id: 'dlq', type: 'dlq', z: 'tab', name: '', onError, wires: [[]] };
    const stage = await stages.deploy('record-schema', { schema }, [dlq]);
    if (does === 'fails') {
      expect(await stage.fail({ payload: bad })).toMatchObject({ code: 'ERR_SLUICE_SCHEMA_MISMATCH' });
    } else expect(await stage.pass({ payload: bad })).toMatchObject([{ payload: { temp: null } }]);
  });

  it('turns red at the deploy for a schema that does not compile', async () => {
    const stage = await stages.deploy('record-schema', { schema: '{"temp":"floot"}' });
    expect(await stage.status('red')).toBe('check the schema');
    expect(await stage.fail({ payload: bad })).toMatchObject({ code: 'ERR_SLUICE_SCHEMA_DEFINITION' });
  });
});
