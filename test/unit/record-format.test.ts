import { createContext, runInContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DeliveryError, StoreError } from '#lib/errors/errors';
import type { Message } from '#lib/node-red/types';
import { decodeRecord, encodeRecord, payloadOf } from '#lib/queue/record-format';

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('utf8');
const trip = (msg: Message) => decodeRecord(encodeRecord(msg));
const codeOf = (action: () => unknown) => {
  try {
    action();
  } catch (error) {
    return error instanceof DeliveryError || error instanceof StoreError ? error.code : error;
  }
  return undefined;
};

describe('the stored record', () => {
  it('keeps any JSON message, also with keys that look like tags or prototypes', () => {
    const key = fc.oneof(
      fc.string(),
      fc.constantFrom('$s:date', '$s:=', '$s:', '$s:=$s:date', '__proto__', 'constructor', 'toString'),
    );
    const leaf = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.double(),
      fc.boolean(),
      fc.constant(null),
      fc.bigInt(),
      fc.date({ noInvalidDate: false }),
      fc.uint8Array().map((bytes) => Buffer.from(bytes)),
      fc.float32Array(),
    );
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        leaf,
        fc.array(fc.option(tie('value'), { nil: undefined }), { maxLength: 4 }),
        fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
        fc.array(fc.tuple(leaf, tie('value')), { maxLength: 3 }).map((entries) => new Map(entries)),
        fc.array(leaf, { maxLength: 3 }).map((items) => new Set(items)),
      ),
    }));
    const lone = fc.constantFrom('\ud800', 'a\udc00b');
    fc.assert(
      fc.property(
        fc.record(
          { payload: fc.oneof(value, lone), topic: fc.string(), extra: value },
          { requiredKeys: [], noNullPrototype: true },
        ),
        (msg) => {
          const before = fc.stringify([msg.payload, msg.topic, msg.extra, Object.keys(msg).sort()]);
          const back = trip(msg);
          expect(fc.stringify([back.payload, back.topic, back['extra'], Object.keys(back).sort()])).toBe(
            before,
          );
        },
      ),
      { numRuns: 400 },
    );
  });

  it('stores raw what came in raw, so that a sink need not parse', () => {
    const body = Buffer.from([0, 255, 1, 2]);
    expect(payloadOf(encodeRecord({ payload: body }))).toEqual({ form: 'bytes', bytes: body });
    const stored = payloadOf(encodeRecord({ payload: 'grüß' }));
    expect(stored.form).toBe('text');
    expect(text(stored.bytes)).toBe('grüß');
    const json = payloadOf(encodeRecord({ payload: { a: [1, null] }, topic: 'x' }));
    expect(json.form).toBe('json');
    expect(text(json.bytes)).toBe('{"a":[1,null]}');
  });

  it('gives the payload as plain JSON even if it had to be tagged', () => {
    const payload = { at: new Date(0), n: 5n, '$s:date': 1 };
    const { form, bytes } = payloadOf(encodeRecord({ payload }));
    expect(form).toBe('json');
    expect(text(bytes)).toBe('{"at":"1970-01-01T00:00:00.000Z","n":"5","$s:date":1}');
  });

  it('keeps a missing payload apart from null and from an empty one', () => {
    expect('payload' in trip({ topic: 't' })).toBe(false);
    expect('payload' in trip({ payload: undefined })).toBe(false);
    expect(trip({ payload: null }).payload).toBeNull();
    expect(trip({ payload: '' }).payload).toBe('');
    expect(trip({ payload: Buffer.alloc(0) }).payload).toEqual(Buffer.alloc(0));
  });

  it('leaves out what belongs to one delivery: req, res, _msgid and undefined', () => {
    const msg = {
      _msgid: 'a',
      req: { socket: () => 1 },
      res: {},
      payload: 1,
      gone: undefined,
      sluice: { id: 'x' },
    };
    expect(Object.keys(trip(msg))).toEqual(['sluice', 'payload']);
  });

  it('reads data of a function node, which comes from another realm', () => {
    const sandbox = createContext({ Buffer });
    const msg = runInContext(
      '({payload: {at: new Date(5), m: new Map([[1, {a: 2}]]), raw: Buffer.from("x"), f: new Float32Array([1.5])}, plain: {a: [1]}})',
      sandbox,
    ) as Message;
    expect(trip(msg)).toEqual({
      payload: {
        at: new Date(5),
        m: new Map([[1, { a: 2 }]]),
        raw: Buffer.from('x'),
        f: new Float32Array([1.5]),
      },
      plain: { a: [1] },
    });
    expect(payloadOf(encodeRecord(runInContext('({payload: {a: [1]}})', sandbox) as Message)).form).toBe(
      'json',
    );
  });

  it('writes an instance of a class by its toJSON, else by its properties', () => {
    class ObjectId {
      toJSON() {
        return '507f1f77bcf86cd799439011';
      }
    }
    class Point {
      x = 1;
    }
    const failure = Object.assign(new RangeError('too far'), { code: 'E_FAR' });
    const back = trip({ payload: [new ObjectId(), new Point()], error: failure });
    expect(back.payload).toEqual(['507f1f77bcf86cd799439011', { x: 1 }]);
    expect(back['error']).toBeInstanceOf(Error);
    expect(back['error']).toMatchObject({ name: 'RangeError', message: 'too far', code: 'E_FAR' });
  });

  it('does not let a stored key replace a prototype', () => {
    const msg = trip({ payload: JSON.parse('{"__proto__":{"admin":true},"$s:x":1}') });
    expect(Object.getPrototypeOf(msg.payload)).toBe(Object.prototype);
    expect((msg.payload as { admin?: boolean }).admin).toBeUndefined();
    expect(Object.keys(msg.payload as object)).toEqual(['__proto__', '$s:x']);
  });

  it.each([
    [
      'a cycle',
      () =>
        Object.assign(
          { a: 1 },
          {
            get self(): unknown {
              return this;
            },
          },
        ),
    ],
    ['a function', () => ({ f: () => 1 })],
    ['a symbol', () => [Symbol('s')]],
    [
      'a throwing getter',
      () => ({
        get x() {
          throw new Error('no');
        },
      }),
    ],
    [
      'data nested 100,000 levels deep',
      () => JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)) as unknown,
    ],
  ])('refuses %s for good and names the property', (_, make) => {
    for (const msg of [{ payload: make() }, { payload: 1, extra: make() }]) {
      expect(() => encodeRecord(msg)).toThrow(/^msg\.(payload|extra) /);
      expect(codeOf(() => encodeRecord(msg))).toBe('ERR_SLUICE_RECORD_UNSERIALISABLE');
    }
    expect(() => encodeRecord({ payload: make() })).toThrow(
      expect.objectContaining({ failure: 'permanent' }),
    );
  });

  it('says when a record is of another version or damaged', () => {
    const good = encodeRecord({ payload: { a: 1 }, topic: 't' });
    const newer = Buffer.from(good);
    newer[0] = 9;
    expect(codeOf(() => decodeRecord(newer))).toBe('ERR_SLUICE_RECORD_VERSION');
    expect(codeOf(() => payloadOf(newer))).toBe('ERR_SLUICE_RECORD_VERSION');
    for (const bad of [good.subarray(0, 5), good.subarray(0, 12), good.subarray(0, good.length - 2)]) {
      expect(codeOf(() => decodeRecord(bad))).toBe('ERR_SLUICE_RECORD_DAMAGED');
    }
    const form = Buffer.from(good);
    form[2] = 77;
    expect(codeOf(() => decodeRecord(form))).toBe('ERR_SLUICE_RECORD_DAMAGED');
  });

  it('gives each reader bytes of its own', () => {
    const record = encodeRecord({ payload: Buffer.from('abc') });
    (decodeRecord(record).payload as Buffer).fill(0);
    expect(decodeRecord(record).payload).toEqual(Buffer.from('abc'));
  });
});
