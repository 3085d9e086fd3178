import { describe, expect, it } from 'vitest';
import { InputError } from '#lib/errors/errors';
import { decodeBody, type BodyCodec } from '#lib/webhook/body-codec';

const bytes = (text: string, encoding: BufferEncoding = 'utf8') => Buffer.from(text, encoding);

function refusal(codec: BodyCodec, body: Buffer, contentType?: string): InputError {
  try {
    decodeBody(codec, body, contentType);
  } catch (error) {
    if (error instanceof InputError) return error;
    throw error;
  }
  throw new Error('the body was decoded');
}

describe('decodeBody', () => {
  it('decodes JSON, a byte order mark included', () => {
    expect(decodeBody('json', bytes('\ufeff{"a":[1,"é"]}'))).toEqual({ a: [1, 'é'] });
  });

  it.each(['', ' \n', '{"a":1,}', '{"a":1}{"b":2}', '{"s":"a\u0001b"}'])(
    'refuses what is no JSON: %j',
    (body) => {
      expect(refusal('json', bytes(body)).code).toBe('ERR_SLUICE_BODY_NOT_JSON');
    },
  );

  it('says where JSON ends, without quoting the payload', () => {
    const { message, cause } = refusal('json', bytes('{"card":"4242424242424242",}'));
    expect(message).toContain('character 27');
    expect(`${message} ${String(cause)}`).not.toContain('4242');
  });

  it.each(['ffe9', 'eda080'])('refuses JSON that is not UTF-8: %s', (hex) => {
    const body = Buffer.concat([bytes('{"a":"'), bytes(hex, 'hex'), bytes('"}')]);
    expect(refusal('json', body).code).toBe('ERR_SLUICE_BODY_NOT_TEXT');
  });

  it('refuses JSON nested so deep that cloning it would overflow the stack, and not brackets in a string', () => {
    const nested = (depth: number) => bytes('{"a":'.repeat(depth) + '1' + '}'.repeat(depth));
    expect(refusal('json', nested(5000)).message).toContain('depth');
    expect(() => decodeBody('json', nested(512))).not.toThrow();
    expect(decodeBody('json', bytes(`"\\"${'['.repeat(5000)}"`))).toHaveLength(5001);
  });

  it('R3 refuses JSON with a key twice in one object, of which one value would get lost', () => {
    const { code, message } = refusal('json', bytes('{"amount":1,"amount":1000}'));
    expect(code).toBe('ERR_SLUICE_BODY_NOT_JSON');
    expect(message).toContain('"amount" is there twice');
  });

  it('R3 keeps numbers that JavaScript can’t hold, digit by digit', () => {
    const body = bytes('{"order":12345678901234567890,"amount":1234567890123456.78,"n":7}');
    expect(decodeBody('json', body)).toEqual({
      order: '12345678901234567890',
      amount: '1234567890123456.78',
      n: 7,
    });
  });

  it.each([
    ['json', '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'],
    ['form', '__proto__=polluted&constructor=x'],
  ] as const)('keeps a key __proto__ as data: %s', (codec, text) => {
    const payload = decodeBody(codec, bytes(text)) as object;
    expect(Object.getPrototypeOf(payload)).toBe(Object.prototype);
    expect(Object.keys(payload)).toEqual(['__proto__', 'constructor']);
    expect('polluted' in {}).toBe(false);
  });

  it('decodes a form, a repeated field as a list', () => {
    expect(decodeBody('form', bytes('a=1&b=x+y%21&a=2&empty=&a=3'))).toEqual({
      a: ['1', '2', '3'],
      b: 'x y!',
      empty: '',
    });
  });

  it('decodes text in the charset that the content type names', () => {
    const latin1 = bytes('café', 'latin1');
    expect(decodeBody('text', latin1, 'text/plain; charset=iso-8859-1')).toBe('café');
    expect(decodeBody('text', bytes('café'), 'text/plain; charset="UTF-8"')).toBe('café');
    expect(refusal('text', latin1, 'text/plain').code).toBe('ERR_SLUICE_BODY_NOT_TEXT');
    expect(refusal('text', latin1, 'text/plain; charset=klingon').code).toBe('ERR_SLUICE_BODY_CHARSET');
  });

  it('hands binary bodies on as they are', () => {
    const body = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    const payload = decodeBody('buffer', body);
    expect(Buffer.isBuffer(payload) && payload.equals(body)).toBe(true);
  });
});
