import { describe, expect, it } from 'vitest';
import { readConfig } from '#lib/config/read-config';
import { fields, problemsOf, type RestSinkConfig } from '#nodes/rest-sink/rest-sink.config';
import { encodeElement, encodePayload, joinBatch, requestTemplate } from '#nodes/rest-sink/rest-sink.request';

const config = (saved: Partial<RestSinkConfig>) =>
  readConfig(fields, { url: 'http://localhost/in', ...saved }, problemsOf);
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('utf8');

describe('requestTemplate', () => {
  it('splits the URL and reads one header a line', () => {
    const saved = config({
      url: 'https://api.example:8443/v1/in?x=1',
      headers: 'X-One: 1\r\nX-Two:a: b \n\n',
    });
    expect(requestTemplate(saved, {})).toEqual({
      method: 'POST',
      origin: 'https://api.example:8443',
      path: '/v1/in?x=1',
      headers: { 'x-one': '1', 'x-two': 'a: b' },
    });
  });

  it('sends credentials by the chosen scheme', () => {
    const basic = requestTemplate(config({ auth: 'basic' }), { user: 'a', password: 'é:b' });
    expect(basic.headers['authorization']).toBe(`Basic ${Buffer.from('a:é:b').toString('base64')}`);
    expect(requestTemplate(config({ auth: 'bearer' }), { token: 't' }).headers['authorization']).toBe(
      'Bearer t',
    );
    expect(requestTemplate(config({}), { token: 't' }).headers).toEqual({});
  });

  it.each([
    ['bearer without a token', { auth: 'bearer' }],
    ['basic without a user', { auth: 'basic' }],
    ['a header that HTTP sets', { headers: 'Content-Length: 3' }],
    ['the key that the sink sets', { headers: 'Idempotency-Key: fixed' }],
    ['a port that does not exist', { url: 'http://localhost:99999/' }],
  ] as const)('refuses %s', (_, saved) => {
    expect(() => requestTemplate(config(saved), {})).toThrow(
      expect.objectContaining({ code: 'ERR_SLUICE_CONFIG_INVALID' }),
    );
  });
});

describe('fields', () => {
  it.each([
    { url: '' },
    { url: 'ftp://localhost/' },
    { url: 'http://user:secret@localhost/' },
    { url: 'http://localhost/a b' },
    { headers: 'no colon here' },
    { headers: 'bad name: x' },
    { successCodes: '2x' },
    { successCodes: '200;201' },
    { successCodes: '600' },
    { concurrency: 0 },
    { maxBacklog: 0 },
    { batch: 0 },
  ])('refuses %j', (saved) => {
    expect(() => config(saved as Partial<RestSinkConfig>)).toThrow(
      expect.objectContaining({ code: 'ERR_SLUICE_CONFIG_INVALID' }),
    );
  });
});

describe('encodePayload', () => {
  it('sends a Buffer raw, a string as text and all else as JSON', () => {
    const raw = Buffer.from([0, 255]);
    expect(encodePayload(raw)).toEqual({ bytes: raw, contentType: 'application/octet-stream' });
    expect(encodePayload('é').contentType).toBe('text/plain; charset=utf-8');
    expect(text(encodePayload('é').bytes)).toBe('é');
    for (const payload of [{ a: 1 }, [1], 5, true, null]) {
      expect(encodePayload(payload).contentType).toBe('application/json');
      expect(text(encodePayload(payload).bytes)).toBe(JSON.stringify(payload));
    }
  });

  const circular: Record<string, unknown> = {};
  circular['self'] = circular;
  it.each([
    ['undefined', undefined],
    ['a function', () => 1],
    ['a circular object', circular],
    ['a BigInt', { n: 1n }],
  ])('refuses %s for good', (_, payload) => {
    expect(() => encodePayload(payload)).toThrow(
      expect.objectContaining({ code: 'ERR_SLUICE_REST_PAYLOAD', failure: 'permanent' }),
    );
  });
});

describe('batches', () => {
  it('join elements of any kind to one JSON array', () => {
    const elements = [{ a: 1 }, 'text', Buffer.from('{"raw":  true}'), 7].map(
      (payload) => encodeElement(payload).bytes,
    );
    expect(text(joinBatch(elements))).toBe('[{"a":1},"text",{"raw":  true},7]');
  });

  it('refuse a Buffer that holds no JSON', () => {
    expect(() => encodeElement(Buffer.from('{"a":'))).toThrow(
      expect.objectContaining({ failure: 'permanent' }),
    );
  });
});
