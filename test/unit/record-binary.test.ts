import { Packr } from 'msgpackr';
import { compress as snappyCompress } from 'snappyjs';
import { describe, expect, it } from 'vitest';
import { parseCbor } from '#lib/record/cbor';
import { parseMsgpack } from '#lib/record/msgpack';
import { RecordError } from '#lib/record/record-error';
import { unpackSnappy } from '#lib/record/snappy';
import { writeCbor } from '../harness/cbor';

const msgpack = new Packr({ useRecords: false, variableMapSize: true });
const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof RecordError) return error.code.replace('ERR_SLUICE_DECODE_', '');
    throw error;
  }
  return 'none';
}

const VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  23,
  127,
  128,
  255,
  256,
  65_535,
  65_536,
  4_294_967_295,
  4_294_967_296,
  Number.MAX_SAFE_INTEGER,
  -1,
  -32,
  -33,
  -128,
  -129,
  -32_768,
  -32_769,
  -2_147_483_648,
  -2_147_483_649,
  1.5,
  -1e300,
  '',
  'é€😀',
  'x'.repeat(31),
  'x'.repeat(32),
  'x'.repeat(300),
  'x'.repeat(70_000),
  Buffer.from([1, 2, 3]),
  Buffer.alloc(300, 7),
  [],
  [1, [2, ['three']]],
  Array.from({ length: 20 }, (_, index) => index),
  Array.from({ length: 70_000 }, () => 1),
  {},
  { a: 1, b: { c: [null, true] } },
  Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`key${index}`, index])),
];

describe.each([
  ['R3 MessagePack', parseMsgpack, (value: unknown) => msgpack.pack(value)],
  ['R3 CBOR', parseCbor, writeCbor],
])('%s', (_name, parse, encode) => {
  it('reads what another implementation wrote', () => {
    for (const value of VALUES) expect(parse(encode(value))).toEqual(value);
  });

  it('keeps whole numbers beyond 2^53 as their digits', () => {
    expect(parse(encode(2n ** 63n))).toBe('9223372036854775808');
    expect(parse(encode(-(2n ** 63n)))).toBe('-9223372036854775808');
  });

  it('refuses every value that is cut off or followed by a byte', () => {
    for (const value of [{ a: 1, b: 'text', c: [1, 2] }, 'text', 1.5, [70_000], Buffer.from('bytes')]) {
      const bytes = encode(value);
      for (let length = 0; length < bytes.length; length += 1) {
        expect(codeOf(() => parse(bytes.subarray(0, length)))).toBe('SYNTAX');
      }
      expect(codeOf(() => parse(Buffer.concat([bytes, Buffer.of(0)])))).toBe('SYNTAX');
    }
  });

  it('refuses NaN and the infinities', () => {
    for (const value of [NaN, Infinity, -Infinity])
      expect(codeOf(() => parse(encode([value])))).toBe('NUMBER');
  });

  it('refuses a key __proto__, and one that is neither text nor a whole number', () => {
    expect(codeOf(() => parse(encode(new Map([['__proto__', 1]]))))).toBe('KEY');
    expect(codeOf(() => parse(encode(new Map([[true, 1]]))))).toBe('KEY');
    expect(parse(encode(new Map([[7, 1]])))).toEqual({ 7: 1 });
  });
});

describe('R3 MessagePack bytes', () => {
  it.each([
    ['a key twice', '82 a1 61 01 a1 61 02', 'KEY'],
    ['a key twice, as number and text', '82 01 01 a1 31 02', 'KEY'],
    ['invalid UTF-8', 'a2 c3 28', 'TEXT'],
    ['the unused byte c1', 'c1', 'SYNTAX'],
    ['an array that claims 4 billion items', 'dd ff ff ff ff', 'SYNTAX'],
    ['a map that claims 4 billion items', 'df ff ff ff ff', 'SYNTAX'],
    ['a bin that claims 4 GB', 'c6 ff ff ff ff 00', 'SYNTAX'],
    ['an extension', 'd4 05 00', 'SYNTAX'],
    ['513 levels', `${'91'.repeat(513)}01`, 'DEPTH'],
    ['10,000 levels', '91'.repeat(10_000), 'DEPTH'],
  ])('refuses %s', (_what, bytes, code) => {
    expect(codeOf(() => parseMsgpack(hex(bytes)))).toBe(code);
  });

  it('reads times as ISO 8601 in UTC, to the nanosecond', () => {
    expect(parseMsgpack(hex('d6 ff 670d3f00'))).toBe('2024-10-14T15:55:44.000Z');
    expect(parseMsgpack(hex('d7 ff 00000004 00000001'))).toBe('1970-01-01T00:00:01.000000001Z');
    expect(parseMsgpack(hex('c7 0c ff 1dcd6500 ffffffffffffffff'))).toBe('1969-12-31T23:59:59.500Z');
  });
});

describe('R3 CBOR bytes', () => {
  // The examples of RFC 8949, appendix A, that have a form in JSON; first those that the writer of these tests writes so.
  it.each([
    ['00', 0],
    ['17', 23],
    ['1818', 24],
    ['1903e8', 1000],
    ['1a000f4240', 1_000_000],
    ['1b000000e8d4a51000', 1_000_000_000_000],
    ['20', -1],
    ['3863', -100],
    ['3903e7', -1000],
    ['fb3ff199999999999a', 1.1],
    ['fb7e37e43c8800759c', 1e300],
    ['f4', false],
    ['f5', true],
    ['f6', null],
    ['40', Buffer.alloc(0)],
    ['4401020304', Buffer.from([1, 2, 3, 4])],
    ['60', ''],
    ['62225c', '"\\'],
    ['64f0908591', '\u{10151}'],
    ['80', []],
    ['8301820203820405', [1, [2, 3], [4, 5]]],
    [
      '98190102030405060708090a0b0c0d0e0f101112131415161718181819',
      Array.from({ length: 25 }, (_, index) => index + 1),
    ],
    ['a26161016162820203', { a: 1, b: [2, 3] }],
  ])('reads and writes %s as %j', (bytes, value) => {
    expect(parseCbor(hex(bytes))).toEqual(value);
    expect(writeCbor(value)).toEqual(hex(bytes));
  });

  it.each([
    ['1bffffffffffffffff', '18446744073709551615'],
    ['c249010000000000000000', '18446744073709551616'],
    ['3bffffffffffffffff', '-18446744073709551616'],
    ['c349010000000000000000', '-18446744073709551617'],
    ['f90001', 5.960464477539063e-8],
    ['f93c00', 1],
    ['f97bff', 65_504],
    ['f9c400', -4],
    ['fa47c35000', 100_000],
    ['f7', null],
    ['c074323031332d30332d32315432303a30343a30305a', '2013-03-21T20:04:00Z'],
    ['c11a514b67b0', 1_363_896_240],
    ['5f42010243030405ff', Buffer.from([1, 2, 3, 4, 5])],
    ['7f657374726561646d696e67ff', 'streaming'],
    ['9fff', []],
    ['9f018202039f0405ffff', [1, [2, 3], [4, 5]]],
    ['bf61610161629f0203ffff', { a: 1, b: [2, 3] }],
    ['d9d9f7820102', [1, 2]],
  ])('reads %s as %j', (bytes, value) => {
    expect(parseCbor(hex(bytes))).toEqual(value);
  });

  it.each([
    ['a key twice', 'a2 61 61 01 61 61 02', 'KEY'],
    ['invalid UTF-8', '62 c3 28', 'TEXT'],
    ['a break where there is nothing to end', 'ff', 'SYNTAX'],
    ['a text in pieces of bytes', '7f 41 61 ff', 'SYNTAX'],
    ['a map that ends after a key', 'bf 61 61 ff', 'SYNTAX'],
    ['a half infinity', 'f9 7c 00', 'NUMBER'],
    ['an unknown tag', 'd8 20 61 61', 'SYNTAX'],
    ['an array that claims 2^63 items', '9b 8000000000000000', 'SYNTAX'],
    ['a text that claims 2^63 bytes', '7b 8000000000000000 61', 'SYNTAX'],
    ['a reserved length', '1c', 'SYNTAX'],
    ['10,000 levels', '9f'.repeat(10_000), 'DEPTH'],
    ['10,000 tags', 'd9d9f7'.repeat(10_000), 'DEPTH'],
  ])('refuses %s', (_what, bytes, code) => {
    expect(codeOf(() => parseCbor(hex(bytes)))).toBe(code);
  });
});

describe('R3 snappy', () => {
  const tooLarge = () => new RecordError('ERR_SLUICE_DECODE_TOO_LARGE', 'too large');
  const unpack = (bytes: Uint8Array, most = 1_000_000) => Buffer.from(unpackSnappy(bytes, most, tooLarge));

  it('unpacks what another implementation packed', () => {
    for (const text of ['', 'a', 'ab'.repeat(40_000), 'no repetition: 0123456789', 'x'.repeat(70_000)]) {
      expect(unpack(snappyCompress(Buffer.from(text))).toString()).toBe(text);
    }
  });

  it('refuses a block that claims too much before it makes room, one that is cut off, and one that points before its start', () => {
    expect(codeOf(() => unpack(hex('ffffffff0f 00 61')))).toBe('TOO_LARGE');
    const whole = snappyCompress(Buffer.from('abcabcabcabcabcabc'));
    for (let length = 0; length < whole.length; length += 1) {
      expect(codeOf(() => unpack(whole.subarray(0, length)))).toBe('COMPRESSION');
    }
    expect(codeOf(() => unpack(hex('04 00 61 01 05')))).toBe('COMPRESSION');
    expect(codeOf(() => unpack(Buffer.concat([whole, hex('00 61')])))).toBe('COMPRESSION');
  });
});
