import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startStages, type Stages } from '../harness/stages';

let stages: Stages;
beforeAll(async () => {
  stages = await startStages();
});
afterAll(() => stages.stop());

describe('record-template in Node-RED', () => {
  it('R6 writes a record, and fails one without a variable for good, with its tuple', async () => {
    const stage = await stages.deploy('record-template', { template: '{{topic}}: {{temp}}' });
    expect(await stage.pass({ payload: { temp: 1 }, topic: 'plant' })).toMatchObject([
      { payload: 'plant: 1' },
    ]);
    expect(await stage.fail({ payload: { other: 1 }, topic: 'plant' })).toMatchObject({
      code: 'ERR_SLUICE_TEMPLATE_FAILED',
      stage: 'DataTemplate',
      failure: 'permanent',
      tuple: { other: 1 },
    });
  });

  it('R6 makes JSON that is checked', async () => {
    const stage = await stages.deploy('record-template', { template: '{"t":{{temp}}}', output: 'json' });
    expect(await stage.pass({ payload: { temp: 1 } })).toMatchObject([{ payload: { t: 1 } }]);
    expect(await stage.fail({ payload: { temp: 'x' } })).toMatchObject({
      code: 'ERR_SLUICE_TEMPLATE_NOT_JSON',
    });
    expect(await stage.status('red')).toBe('not JSON');
  });

  it('turns red at the deploy for a tag that is not closed', async () => {
    const stage = await stages.deploy('record-template', { template: '{{temp' });
    expect(await stage.status('red')).toBe('check the template');
    expect(await stage.fail({ payload: { temp: 1 } })).toMatchObject({ code: 'ERR_SLUICE_TEMPLATE_SYNTAX' });
  });
});
