import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StageError } from '#lib/errors/errors';
import { rawOf } from '#lib/record/raw-bytes';
import { startStages, type Stages } from '../harness/stages';

let stages: Stages;
beforeAll(async () => {
  stages = await startStages();
});
afterAll(() => stages.stop());

describe('record-decode in Node-RED', () => {
  it('R3 sends a decoded record on, with all else of its message', async () => {
    const stage = await stages.deploy('record-decode', { compression: 'auto' });
    const [record] = await stage.pass({
      payload: gzipSync('{"temp":21.5}'),
      topic: 'plant',
      extra: { a: 1 },
    });
    expect(record).toMatchObject({ payload: { temp: 21.5 }, topic: 'plant', extra: { a: 1 } });
    expect(JSON.stringify(record)).not.toContain('raw');
  });

  it('R3 fails a payload that can’t be decoded for good, with its bytes, and goes on with the next', async () => {
    const stage = await stages.deploy('record-decode');
    const payload = Buffer.from('7b226122', 'hex');
    const error = await stage.fail({ payload });
    expect(error).toBeInstanceOf(StageError);
    expect(error).toMatchObject({
      code: 'ERR_SLUICE_DECODE_SYNTAX',
      stage: 'CodecDecode',
      failure: 'permanent',
      raw: payload,
      tuple: undefined,
    });
    expect(await stage.status('red')).toBe('malformed payload');
    expect(await stage.pass({ payload: Buffer.from('[1]') })).toMatchObject([{ payload: [1] }]);
    expect(await stage.status('green')).toBe('sluice.stage.ready');
  });

  it('R3 makes a message of each line of NDJSON, and none where a line is bad', async () => {
    const stage = await stages.deploy('record-decode', { codec: 'ndjson' });
    const records = await stage.pass(
      { payload: Buffer.from('{"n":1}\n{"n":2}\n{"n":3}\n'), headers: { a: '1' } },
      3,
    );
    expect(records.map(({ payload }) => payload)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    expect(records[1]).toMatchObject({ parts: { type: 'array', count: 3, index: 1 }, headers: { a: '1' } });
    expect(await stage.fail({ payload: Buffer.from('{"n":1}\n{"n":') })).toMatchObject({
      message: expect.stringContaining('line 2') as string,
    });
    expect(stage.received()).toBe(3);
  });

  it('leaves the bytes for the dead letters of later stages, through a clone too', async () => {
    const stage = await stages.deploy('record-decode');
    const payload = Buffer.from(`{"a":"${'x'.repeat(10_000)}"}`);
    const [record] = await stage.pass({ payload });
    const raw = rawOf(stages.nodeRed.RED.util.cloneMessage(record!));
    expect(Buffer.from(raw ?? []).equals(payload.subarray(0, 4097))).toBe(true);
  });

  it('fails with the bytes that it could not decode, not those of an earlier decoder', async () => {
    const stage = await stages.deploy('record-decode');
    const [record] = await stage.pass({ payload: Buffer.from('{"inner":"e30="}') });
    const payload = Buffer.from('{"inner');
    expect(await stage.fail({ ...record, payload })).toMatchObject({ raw: payload });
  });

  it('turns red at the deploy for an encoding that is not known, and keeps every record', async () => {
    const stage = await stages.deploy('record-decode', { encoding: 'utf-99' });
    expect(await stage.status('red')).toBe('check the settings');
    expect(await stage.fail({ payload: Buffer.from('1') })).toMatchObject({
      code: 'ERR_SLUICE_CONFIG_INVALID',
    });
  });
});
