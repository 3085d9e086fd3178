import { describe, expect, it } from 'vitest';
import { keepFailure } from '#lib/dead-letter/envelope';
import { caughtClassOf, isEnvelope, stageOf, type Failure } from '#lib/dead-letter/failure';
import { MAX_RAW_BYTES, rawFields } from '#lib/dead-letter/raw-payload';
import { Ring } from '#lib/dead-letter/ring';
import { Rules } from '#lib/dead-letter/rules';
import { safeValue } from '#lib/dead-letter/safe-value';
import { DeliveryError, StageError } from '#lib/errors/errors';
import type { Message } from '#lib/node-red/types';
import { decodeRecord } from '#lib/queue/record-format';

const failed = (msg: Message, more: Partial<Failure> = {}): Failure => ({
  error: new Error('no'),
  class: 'permanent',
  rule: 'tab',
  msg,
  node: { id: 'n', type: 'rest-sink', name: '', isSink: true },
  stamp: { id: 'r1', source: 'hook', receivedAt: 1, attempt: 2 },
  target: { node: 'n' },
  ...more,
});
const keep = (msg: Message, more: Partial<Failure> = {}, includeRaw = true) =>
  keepFailure(failed(msg, more), 1234, includeRaw);

describe('raw payloads', () => {
  it('R17 cuts on bytes, and flags it', () => {
    const { raw_payload, raw_truncated } = rawFields(Buffer.from('ä'.repeat(3000)));
    expect(raw_truncated).toBe(true);
    expect(Buffer.byteLength(raw_payload!)).toBe(MAX_RAW_BYTES);
    const odd = rawFields(Buffer.from(`x${'ä'.repeat(3000)}`));
    expect(Buffer.byteLength(odd.raw_payload!)).toBe(MAX_RAW_BYTES - 1);
    expect(odd.raw_payload).not.toContain('\ufffd');
  });

  it('R17 leaves what fits as it is, and writes base64 where it isn’t UTF-8', () => {
    expect(rawFields(Buffer.from('{"a":1}'))).toEqual({ raw_payload: '{"a":1}' });
    expect(rawFields(Buffer.from([0xff, 0xfe, 0]))).toEqual({ raw_payload: '//4A', raw_encoding: 'base64' });
    expect(rawFields(Buffer.alloc(0))).toEqual({});
    const exact = rawFields(Buffer.alloc(MAX_RAW_BYTES, 97));
    expect(exact.raw_truncated).toBeUndefined();
    expect(
      rawFields(Buffer.concat([Buffer.alloc(MAX_RAW_BYTES - 1, 97), Buffer.from([0xff])])).raw_encoding,
    ).toBe('base64');
  });
});

describe('values to show', () => {
  it('DL-05 survives cycles, bigints, functions, getters that throw and depth', () => {
    const circular: Record<string, unknown> = { big: 1n, fn: () => 1, nan: NaN, when: new Date(0) };
    circular['self'] = circular;
    Object.defineProperty(circular, 'bad', {
      enumerable: true,
      get() {
        throw new Error('no');
      },
    });
    circular['list'] = [undefined, new Map([['a', 1n]]), Buffer.alloc(3)];
    const { value } = safeValue(circular);
    expect(JSON.parse(JSON.stringify(value))).toEqual({
      big: '1',
      fn: '[function]',
      nan: 'NaN',
      when: '1970-01-01T00:00:00.000Z',
      self: '[circular]',
      bad: '[unreadable]',
      list: [null, [['a', '1']], '[3 bytes]'],
    });
  });

  it('bounds what is large, and says so', () => {
    const { value, truncated } = safeValue(Array.from({ length: 100_000 }, (_, n) => ({ n })));
    expect(truncated).toBe(true);
    expect(JSON.stringify(value).length).toBeLessThan(20_000);
    expect(safeValue('x'.repeat(5000))).toMatchObject({ truncated: true });
    expect(safeValue({ a: 1 })).toEqual({ value: { a: 1 }, truncated: false });
    let deep: unknown = 1;
    for (let n = 0; n < 100; n += 1) deep = { deep };
    expect(safeValue(deep).truncated).toBe(true);
  });
});

describe('the envelope', () => {
  it('R8 R20 has the documents’ fields and ours, and no empty ones', () => {
    const { envelope } = keep({ payload: { a: 1 }, topic: 't' });
    expect(envelope).toEqual({
      rule_id: 'tab',
      stage: 'SinkDelivery',
      stage_code: 4,
      error: 'no',
      timestamp: 1234,
      raw_payload: '{"a":1}',
      tuple: { a: 1 },
      sink_type: 'rest-sink',
      record_id: 'r1',
      source: 'hook',
      node: { id: 'n', type: 'rest-sink' },
      class: 'permanent',
      attempts: 2,
    });
    const bare = keep({ payload: '' }, { node: undefined, stamp: undefined }).envelope;
    expect(Object.keys(bare)).toEqual(['rule_id', 'stage', 'stage_code', 'error', 'timestamp', 'class']);
  });

  it('R8 takes raw bytes and the record before the failure from the stage', () => {
    const error = new StageError('ERR_SLUICE_DECODE_SYNTAX', 'bad', {
      stage: 'CodecDecode',
      raw: Buffer.from('{"a":'),
      tuple: { before: 1 },
    });
    expect(keep({ payload: { after: 2 } }, { error }).envelope).toMatchObject({
      stage: 'CodecDecode',
      stage_code: 0,
      raw_payload: '{"a":',
      tuple: { before: 1 },
      error_code: 'ERR_SLUICE_DECODE_SYNTAX',
    });
  });

  it('R14 without includeRawPayload keeps neither what came in nor the record', () => {
    const { envelope, record } = keep({ payload: 'secret' }, {}, false);
    expect(record.byteLength).toBe(0);
    expect(envelope).toMatchObject({ not_replayable: 'includeRawPayload is off' });
    expect(JSON.stringify(envelope)).not.toContain('secret');
  });

  it.each([
    ['a cycle', () => Object.assign({}, { self: {} }, { fn: () => 1 })],
    ['a function', () => ({ fn: () => 1 })],
    ['a symbol', () => ({ s: Symbol('s') })],
  ])(
    'DL-05 writes down a record with %s, says that it can’t be replayed, and never throws',
    (_what, make) => {
      const { envelope, record } = keep({ payload: make() });
      expect(record.byteLength).toBe(0);
      expect(envelope.not_replayable).toMatch(/msg/);
      expect(() => JSON.stringify(envelope)).not.toThrow();
    },
  );

  it('keeps a buffer of 50 MB whole, and shows 4096 bytes of it', () => {
    const { envelope, record } = keep({ payload: Buffer.alloc(50 * 2 ** 20, 97) });
    expect(record.byteLength).toBeGreaterThan(50 * 2 ** 20);
    expect(envelope).toMatchObject({ raw_truncated: true });
    expect(JSON.stringify(envelope).length).toBeLessThan(5000);
  });

  it('survives third-party errors whose parts are no text', () => {
    const error = Object.assign(new Error(), { message: { nested: 1 }, code: 42 });
    expect(keep({ payload: 1 }, { error: error as unknown as Error }).envelope).toMatchObject({
      error: '[object Object]',
    });
  });

  it('DL-21 keeps no header that may prove who sent it, and no token of the query', () => {
    const headers = {
      'content-type': 'application/json',
      'webhook-id': 'msg_1',
      'webhook-signature': 'v1,abc',
      'x-shopify-hmac-sha256': 'abc',
      'x-mac': 'abc',
      authorization: 'Bearer abc',
      cookie: 'abc',
    };
    const { record } = keep({
      payload: 1,
      headers,
      query: { page: '2', access_token: 'abc', sig: 'abc' },
      req: { socket: {} },
      res: {},
    });
    expect(decodeRecord(record)).toEqual({
      payload: 1,
      headers: { 'content-type': 'application/json', 'webhook-id': 'msg_1' },
      query: { page: '2' },
    });
    expect(Buffer.from(record).toString()).not.toContain('abc');
  });
});

describe('kinds of failures', () => {
  it('R2 R7 takes the stage from the error, else from the kind of node', () => {
    const permanent = new DeliveryError('ERR_SLUICE_REST_REJECTED', '400', { failure: 'permanent' });
    expect(stageOf(permanent, true)).toBe('SinkDelivery');
    expect(stageOf(new RangeError('x'), false)).toBe('SqlEval');
    expect(
      stageOf(new StageError('ERR_SLUICE_SCHEMA_MISMATCH', 'x', { stage: 'SchemaValidation' }), true),
    ).toBe('SchemaValidation');
    const unserialisable = new DeliveryError('ERR_SLUICE_RECORD_UNSERIALISABLE', 'x', {
      failure: 'permanent',
    });
    expect(stageOf(unserialisable, true)).toBe('DataTemplate');
    expect(stageOf(Object.assign(new Error('x'), { stage: 'Nonsense' }), false)).toBe('SqlEval');
  });

  it.each([
    [
      'ours, transient',
      new DeliveryError('ERR_SLUICE_REST_BUSY', 'x', { failure: 'transient' }),
      'transient',
    ],
    ['ours, config', new DeliveryError('ERR_SLUICE_REST_UNAUTHORIZED', 'x', { failure: 'config' }), 'config'],
    ['a failed connection', Object.assign(new Error('x'), { code: 'ECONNREFUSED' }), 'transient'],
    ['an unknown host', Object.assign(new Error('x'), { code: 'ENOTFOUND' }), 'transient'],
    ['a full disk', Object.assign(new Error('x'), { code: 'ENOSPC' }), 'transient'],
    ['a script error', new TypeError('x'), 'permanent'],
    ['a parse error', Object.assign(new SyntaxError('x'), { code: 'EBADJSON' }), 'permanent'],
  ])('takes an error that a catch node brings, %s, as what it is', (_what, error, expected) => {
    expect(caughtClassOf(error)).toBe(expected);
  });

  it('DL-09 knows an envelope that comes back, as an object, as text and as bytes', () => {
    const { envelope } = keep({ payload: 1 });
    const text = JSON.stringify(envelope);
    expect(isEnvelope(envelope)).toBe(true);
    expect(isEnvelope(text)).toBe(true);
    expect(isEnvelope(Buffer.from(`[${text}]`))).toBe(true);
    for (const other of [
      undefined,
      null,
      1,
      'text',
      '{"rule":1}',
      { rule_id: 'x', stage: 'y' },
      [],
      Buffer.alloc(9),
    ]) {
      expect(isEnvelope(other)).toBe(false);
    }
  });
});

describe('rules', () => {
  const governor = (id: string, bufferCapacity = 100, maxRows = 10) => ({
    id,
    policy: { onError: 'dlq', bufferCapacity, includeRawPayload: true } as const,
    quota: { maxRows, maxBytes: maxRows },
    emit() {},
  });

  it('R13 the ring keeps the newest, and shrinks', () => {
    const ring = new Ring<number>(3);
    for (let n = 1; n <= 10; n += 1) ring.push(n);
    expect(ring.newest()).toEqual([8, 9, 10]);
    ring.resize(2);
    expect(ring.newest()).toEqual([9, 10]);
    ring.clear();
    expect(ring.newest()).toEqual([]);
  });

  it('R9 a tab has its own policy; one without a dlq node drops', () => {
    const rules = new Rules();
    rules.deployed(
      new Map([
        ['a', 'A'],
        ['b', 'B'],
      ]),
    );
    const release = rules.govern('a', governor('dlq1'));
    expect(rules.of('a').policy.onError).toBe('dlq');
    expect(rules.of('b').policy).toMatchObject({
      onError: 'drop',
      bufferCapacity: 100,
      includeRawPayload: true,
    });
    release();
    expect(rules.of('a').policy.onError, 'until flows run again').toBe('dlq');
    rules.deployed(new Map([['a', 'A']]));
    expect(rules.of('a').policy.onError).toBe('drop');
    expect(rules.matching('b')).toEqual([]);
  });

  it('refuses a second dlq node on a tab, not the same one again', () => {
    const rules = new Rules();
    rules.govern('a', governor('dlq1'));
    expect(() => rules.govern('a', governor('dlq2'))).toThrow(
      expect.objectContaining({ code: 'ERR_SLUICE_DLQ_TAB_TAKEN' }) as Error,
    );
    rules.govern('a', governor('dlq1'));
  });

  it('finds a rule by a label that only it has, and takes the largest quota', () => {
    const rules = new Rules();
    rules.deployed(
      new Map([
        ['a', 'same'],
        ['b', 'same'],
        ['c', 'own'],
      ]),
    );
    expect(rules.matching('own').map(({ id }) => id)).toEqual(['c']);
    expect(rules.matching('same')).toHaveLength(2);
    expect(rules.quota()).toBeUndefined();
    rules.govern('a', governor('1', 100, 5));
    rules.govern('b', governor('2', 100, 50));
    expect(rules.quota()).toEqual({ maxRows: 50, maxBytes: 50 });
  });
});
