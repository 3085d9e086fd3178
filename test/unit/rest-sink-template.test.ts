import { describe, expect, it } from 'vitest';
import { ConfigError } from '#lib/errors/errors';
import { RecordError } from '#lib/record/record-error';
import { encoderFor } from '#nodes/rest-sink/rest-sink.request';

function encode(template: string, payload: unknown, batch = 1) {
  const { bytes, contentType } = encoderFor({ template, batch })({ payload, topic: 'plant' });
  return { body: Buffer.from(bytes).toString(), contentType };
}

describe('R6 the template of a rest sink', () => {
  it('makes the body, as JSON where it begins like JSON', () => {
    const json = { body: '{"t": 21.5, "of": "pl\\"ant"}', contentType: 'application/json' };
    expect(encode('{"t": {{temp}}, "of": "{{name}}"}', { temp: 21.5, name: 'pl"ant' })).toEqual(json);
    const text = { body: '21.5 at plant', contentType: 'text/plain; charset=utf-8' };
    expect(encode('{{temp}} at {{topic}}', { temp: 21.5 })).toEqual(text);
  });

  it('makes JSON in a batch, whatever it begins with', () => {
    expect(encode('{{temp}}', { temp: 21.5 }, 10)).toEqual({ body: '21.5', contentType: 'application/json' });
    expect(() => encode('{{temp}}', { temp: 'hot' }, 10)).toThrow(RecordError);
  });

  it('leaves the payload as it is without one', () => {
    expect(encode('', { temp: 1 })).toEqual({ body: '{"temp":1}', contentType: 'application/json' });
  });

  it('is refused at the deploy when a tag is not closed', () => {
    expect(() => encoderFor({ template: '{{temp', batch: 1 })).toThrow(ConfigError);
  });
});
