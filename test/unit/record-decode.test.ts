import * as zlib from 'node:zlib';
import { compress as snappyCompress } from 'snappyjs';
import { describe, expect, it } from 'vitest';
import { decodePayload, type DecodeOptions, type Described } from '#lib/record/decode';
import { RecordError } from '#lib/record/record-error';
import cases from '../cases/codec-json.json' with { type: 'json' };

const JSON_OPTIONS: DecodeOptions = {
  codec: 'json',
  compression: 'none',
  encoding: 'utf-8',
  maxBytes: 16_777_216,
};
/** `{"temp":21.5}`, made by the zstd command. */
const ZSTD = Buffer.from('KLUv/QRYaQAAeyJ0ZW1wIjoyMS41fbAxzrU=', 'base64');

/** The records, or the error's code and text. */
async function outcome(payload: unknown, options: Partial<DecodeOptions> = {}, described: Described = {}) {
  try {
    return await decodePayload(payload, { ...JSON_OPTIONS, ...options }, described);
  } catch (error) {
    if (error instanceof RecordError) return `${error.code}: ${error.message}`;
    throw error;
  }
}

const GENERATED: Readonly<Record<string, () => Buffer>> = {
  'CJ-19': () => Buffer.from('{"a":'.repeat(5000) + '1' + '}'.repeat(5000)),
  'CJ-29': () => zlib.gzipSync(Buffer.alloc(10_485_760)),
  'CJ-31': () => Buffer.from('x'.repeat(4096)),
};
const DECODED: Readonly<Record<string, unknown>> = {
  'CJ-07': { order: '12345678901234567890', amount: '1234567890123456.78' },
  'CJ-09': { v: '1e400' },
  'CJ-13': { constructor: { prototype: { x: 1 } }, name: 'n' },
  'CJ-15': { s: '\ud83d' },
  'CJ-34': 'café',
};
const ERRORS: Readonly<Record<string, RegExp>> = {
  'CJ-11': /"amount" is there twice/,
  'CJ-19': /nesting depth/,
  'CJ-27': /decompression/,
  'CJ-29': /decompressed size limit/,
};

describe('cases from the field', () => {
  it.each(cases.cases.map((one) => [one.id, one.title, one] as const))(
    'R3 %s %s',
    async (id, _title, { input }) => {
      const { codec: named, payloadBase64, contentType } = input;
      const payload = payloadBase64 === undefined ? GENERATED[id]?.() : Buffer.from(payloadBase64, 'base64');
      const [, compression = 'none', codec] = /^(?:(gzip)\+)?(json|text)$/.exec(named) ?? [];
      const maxBytes =
        'maxDecodedBytes' in input.config ? input.config.maxDecodedBytes : JSON_OPTIONS.maxBytes;
      const options = { codec, compression, maxBytes } as Partial<DecodeOptions>;
      const result = await outcome(payload, options, { contentType });
      if (id in DECODED) expect(result).toEqual([DECODED[id]]);
      else expect(result).toMatch(ERRORS[id] ?? /^ERR_SLUICE_DECODE_(?:TEXT|SYNTAX)/);
    },
  );

  it('R3 CJ-29 takes no room for what a bomb would unpack to', async () => {
    const bomb = zlib.gzipSync(Buffer.alloc(200 * 1024 * 1024));
    const before = process.memoryUsage().arrayBuffers;
    expect(await outcome(bomb, { compression: 'gzip' })).toContain('decompressed size limit');
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(100 * 1024 * 1024);
  });
});

const RECORD = { temp: 21.5 };
const TEXT = Buffer.from(JSON.stringify(RECORD));
const LARGE = Buffer.from(
  JSON.stringify({ data: Array.from({ length: 20_000 }, (_, i) => (i * 7919) % 100_003) }),
);
const PACK: readonly [DecodeOptions['compression'], (bytes: Buffer) => Uint8Array][] = [
  ['gzip', (bytes) => zlib.gzipSync(bytes)],
  ['deflate', (bytes) => zlib.deflateSync(bytes)],
  ['br', (bytes) => zlib.brotliCompressSync(bytes)],
  ['snappy', (bytes) => snappyCompress(bytes)],
];

describe('R3 compression', () => {
  it.each(PACK)('unpacks %s, small and large', async (compression, pack) => {
    expect(await outcome(pack(TEXT), { compression })).toEqual([RECORD]);
    expect(await outcome(pack(LARGE), { compression })).toEqual([JSON.parse(LARGE.toString())]);
  });

  it.each(PACK)(
    'refuses %s that is cut off, damaged, followed by bytes or too large',
    async (compression, pack) => {
      for (const text of [TEXT, LARGE]) {
        const packed = Buffer.from(pack(text));
        const half = packed.subarray(0, packed.length >> 1);
        for (const bytes of [
          half,
          Buffer.concat([packed, Buffer.of(0)]),
          Buffer.concat([packed, packed.subarray(1)]),
        ]) {
          expect(await outcome(bytes, { compression })).toContain('ERR_SLUICE_DECODE_COMPRESSION');
        }
        const small = await outcome(packed, { compression, maxBytes: text.length - 1 });
        expect(small).toContain('ERR_SLUICE_DECODE_TOO_LARGE');
      }
      expect(await outcome(Buffer.from('plain'), { compression })).toContain('ERR_SLUICE_DECODE_COMPRESSION');
      expect(await outcome(Buffer.alloc(0), { compression })).toContain('ERR_SLUICE_DECODE_COMPRESSION');
    },
  );

  it('takes deflate without the zlib header', async () => {
    expect(await outcome(zlib.deflateRawSync(TEXT), { compression: 'deflate' })).toEqual([RECORD]);
  });

  it('unpacks zstd, and refuses what is cut off, followed by bytes or too large', async () => {
    const zstd = { compression: 'zstd' } as const;
    expect(await outcome(ZSTD, zstd)).toEqual([RECORD]);
    for (let length = 0; length < ZSTD.length; length += 1) {
      expect(await outcome(ZSTD.subarray(0, length), zstd)).toContain('ERR_SLUICE_DECODE_COMPRESSION');
    }
    expect(await outcome(Buffer.concat([ZSTD, Buffer.from('junk')]), zstd)).toContain('COMPRESSION');
    expect(await outcome(ZSTD, { ...zstd, maxBytes: 12 })).toContain('ERR_SLUICE_DECODE_TOO_LARGE');
  });

  it('finds out by itself with auto, by header or first bytes', async () => {
    const auto = { compression: 'auto' } as const;
    expect(await outcome(TEXT, auto)).toEqual([RECORD]);
    expect(await outcome('{"temp":21.5}', auto)).toEqual([RECORD]);
    for (const bytes of [zlib.gzipSync(TEXT), zlib.deflateSync(TEXT), ZSTD]) {
      expect(await outcome(bytes, auto)).toEqual([RECORD]);
    }
    const br = zlib.brotliCompressSync(TEXT);
    expect(await outcome(br, auto, { contentEncoding: 'br' })).toEqual([RECORD]);
    expect(await outcome(TEXT, auto, { contentEncoding: 'gzip' })).toEqual([RECORD]);
    expect(await outcome(TEXT, auto, { contentEncoding: 'compress' })).toContain('not known here');
  });
});

describe('R3 payloads', () => {
  it('refuses what is neither bytes nor text, saying what it is', async () => {
    for (const payload of [undefined, null, 7, { a: 1 }, [1]]) {
      expect(await outcome(payload)).toContain('ERR_SLUICE_DECODE_INPUT');
    }
    expect(await outcome('text', { codec: 'cbor' })).toContain('ERR_SLUICE_DECODE_INPUT');
    expect(await outcome('text', { compression: 'gzip' })).toContain('ERR_SLUICE_DECODE_INPUT');
  });

  it('refuses 100 MB at once', async () => {
    const before = performance.now();
    expect(await outcome(Buffer.alloc(100 * 1024 * 1024, '['))).toContain('ERR_SLUICE_DECODE_TOO_LARGE');
    expect(await outcome('['.repeat(100 * 1024 * 1024))).toContain('ERR_SLUICE_DECODE_TOO_LARGE');
    expect(performance.now() - before).toBeLessThan(1000);
  });

  it('takes a byte order mark for what it is, in every encoding', async () => {
    expect(await outcome(Buffer.from('\ufeff{"temp":21.5}'))).toEqual([RECORD]);
    const utf16 = Buffer.from('\ufeff{"temp":21.5}', 'utf16le');
    expect(await outcome(utf16, { encoding: 'utf-16le' })).toEqual([RECORD]);
    expect(await outcome(utf16, {}, { contentType: 'application/json; charset="UTF-16LE"' })).toEqual([
      RECORD,
    ]);
  });

  it('refuses a charset that is not known, and bytes that are not in the one named', async () => {
    expect(await outcome(TEXT, {}, { contentType: 'text/plain; charset=x-none' })).toContain(
      'DECODE_CHARSET',
    );
    const contentType = 'text/plain; charset=shift_jis';
    expect(await outcome(Buffer.of(0x81, 0xff), { codec: 'text' }, { contentType })).toContain('DECODE_TEXT');
  });
});
