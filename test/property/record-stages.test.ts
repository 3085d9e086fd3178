/** 100,000 payloads for each stage: a typed error or a record, in time, and never another record than was sent. */
import { gzipSync } from 'node:zlib';
import { encode as encodeCbor } from 'cbor2';
import fc from 'fast-check';
import { Packr } from 'msgpackr';
import { describe, expect, it } from 'vitest';
import { ConfigError } from '#lib/errors/errors';
import { decodePayload, type DecodeOptions } from '#lib/record/decode';
import { refuseUnstorable } from '#lib/record/finite-value';
import { parseJson } from '#lib/record/json';
import { RecordError } from '#lib/record/record-error';
import { compileSchema } from '#lib/record/schema';
import { columnsJson, parseColumns } from '#lib/record/sql/columns';
import { singleSelect } from '#lib/record/sql/statement';
import { compileTemplate } from '#lib/record/template';

const RUNS = 100_000;
const TIMEOUT_MS = 240_000;
const runs = (numRuns = RUNS) => ({
  numRuns,
  seed: Number(process.env['SLUICE_TEST_SEED'] ?? Date.now() % 2 ** 31),
});

const msgpack = new Packr({ useRecords: false });

/** The value, or the error where it is one of those that a stage may end with; anything else is thrown on. */
function outcome<Value>(run: () => Value): Value | RecordError {
  try {
    return run();
  } catch (error) {
    if (error instanceof RecordError) return error;
    throw error;
  }
}

const options = (codec: DecodeOptions['codec'], compression: DecodeOptions['compression'] = 'none') => ({
  codec,
  compression,
  encoding: 'utf-8',
  maxBytes: 65_536,
});

/** A value that every codec keeps as it is: whole numbers beyond 2^53 become text. */
const plain = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', maxDepth: 4 },
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    fc
      .double({ noNaN: true, noDefaultInfinity: true })
      .filter((value) => !Number.isInteger(value) || Number.isSafeInteger(value))
      .map((value) => (value === 0 ? 0 : value)),
    fc.string({ unit: 'grapheme', maxLength: 12 }),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(
      fc.string({ maxLength: 6 }).filter((key) => key !== '__proto__'),
      tie('value'),
      {
        maxKeys: 4,
        noNullPrototype: true,
      },
    ),
  ),
})).value;

interface Mutation {
  readonly at: number;
  readonly byte: number;
  readonly kind: 'flip' | 'insert' | 'remove' | 'cut' | 'repeat';
}
const mutation: fc.Arbitrary<Mutation> = fc.record({
  at: fc.nat(),
  byte: fc.nat(255),
  kind: fc.constantFrom('flip', 'insert', 'remove', 'cut', 'repeat'),
});

function mutate(bytes: Buffer, mutations: readonly Mutation[]): Buffer {
  return mutations.reduce((changed, { at, byte, kind }) => {
    const place = changed.length === 0 ? 0 : at % changed.length;
    const before = changed.subarray(0, place);
    if (kind === 'cut') return Buffer.from(before);
    if (kind === 'repeat') return Buffer.concat([changed, changed.subarray(place)]);
    const after = changed.subarray(kind === 'insert' ? place : place + 1);
    return Buffer.concat(kind === 'remove' ? [before, after] : [before, Buffer.of(byte), after]);
  }, bytes);
}

const ENCODERS: Readonly<Record<string, (value: unknown) => Buffer>> = {
  json: (value) => Buffer.from(JSON.stringify(value)),
  ndjson: (value) => Buffer.from(`${JSON.stringify(value)}\n${JSON.stringify(value)}`),
  text: (value) => Buffer.from(JSON.stringify(value)),
  msgpack: (value) => Buffer.from(msgpack.pack(value)),
  cbor: (value) => Buffer.from(encodeCbor(value)),
};
const codecs = fc.constantFrom<DecodeOptions['codec'][]>('json', 'ndjson', 'text', 'msgpack', 'cbor');

describe('R3 decode', () => {
  it('gives back what was encoded, whatever the codec', { timeout: TIMEOUT_MS }, () => {
    fc.assert(
      fc.property(codecs, plain, (codec, value) => {
        const bytes = ENCODERS[codec]!(value);
        const expected = codec === 'ndjson' ? [value, value] : [codec === 'text' ? bytes.toString() : value];
        expect(decodePayload(bytes, options(codec))).toEqual(expected);
      }),
      runs(20_000),
    );
  });

  it(
    'ends with a record or a typed error on mutated and random bytes, and takes no JSON for another',
    { timeout: TIMEOUT_MS },
    () => {
      const mutated = fc.tuple(codecs, plain, fc.array(mutation, { minLength: 1, maxLength: 4 }));
      const payload = fc.oneof(
        {
          arbitrary: mutated.map(
            ([codec, value, how]) => [codec, mutate(ENCODERS[codec]!(value), how)] as const,
          ),
          weight: 4,
        },
        {
          arbitrary: fc.tuple(
            codecs,
            fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
          ),
          weight: 1,
        },
      );
      fc.assert(
        fc.property(payload, ([codec, bytes]) => {
          const records = outcome(() => decodePayload(bytes, options(codec)));
          if (records instanceof RecordError || records instanceof Promise) return;
          // Valid UTF-8 that JSON.parse takes as well, and what it writes decodes to the same again.
          if (codec === 'json') {
            expect(Buffer.from(bytes.toString()).equals(bytes)).toBe(true);
            const again = JSON.stringify(records[0]);
            // A number like 1e16 is written in digits, and those of an id that long are kept as text.
            if (!/\d{16}/.test(again)) expect(JSON.stringify(parseJson(again))).toBe(again);
            expect(() => JSON.parse(bytes.toString().replace(/^\ufeff/, '')) as unknown).not.toThrow();
          }
          if (codec === 'text') expect(records[0]).toBe(bytes.toString().replace(/^\ufeff/, ''));
          for (const record of records) refuseUnstorable(record);
        }),
        runs(),
      );
    },
  );

  it('ends so on mutated streams of every compression', { timeout: TIMEOUT_MS }, async () => {
    const packed = gzipSync(Buffer.from('{"temp":21.5,"text":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}'));
    const compressions = fc.constantFrom<DecodeOptions['compression'][]>(
      'auto',
      'gzip',
      'deflate',
      'br',
      'zstd',
      'snappy',
    );
    const bytes = fc.oneof(
      fc.array(mutation, { minLength: 1, maxLength: 3 }).map((how) => mutate(packed, how)),
      fc.uint8Array({ maxLength: 64 }).map((random) => Buffer.from(random)),
      fc
        .uint8Array({ maxLength: 48 })
        .map((random) => Buffer.concat([Buffer.from('28b52ffd', 'hex'), random])),
    );
    await fc.assert(
      fc.asyncProperty(compressions, bytes, async (compression, payload) => {
        try {
          await decodePayload(payload, options('text', compression));
        } catch (error) {
          expect(error).toBeInstanceOf(RecordError);
        }
      }),
      runs(20_000),
    );
  });
});

describe('R4 schema', () => {
  const typeNames = fc.constantFrom(
    'bigint',
    'float',
    'decimal',
    'string',
    'boolean?',
    'datetime',
    'array',
    'object?',
    'any',
  );
  const short = fc.dictionary(
    fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor', 'length'),
    typeNames,
    {
      minKeys: 1,
      noNullPrototype: true,
    },
  );
  const record = fc.oneof(
    fc.dictionary(fc.constantFrom('a', 'b', 'c', 'constructor', 'length'), fc.anything({ maxDepth: 2 }), {
      noNullPrototype: true,
    }),
    fc.anything({
      maxDepth: 2,
      withBigInt: true,
      withDate: true,
      withTypedArray: true,
      withSparseArray: true,
    }),
  );

  it(
    'lets a record pass unchanged or fails it, and nullify touches only what does not fit',
    { timeout: TIMEOUT_MS },
    () => {
      fc.assert(
        fc.property(short, record, (definition, value) => {
          const text = JSON.stringify(definition);
          let schema: ReturnType<typeof compileSchema>;
          try {
            schema = compileSchema(text, { coerce: false, clone: (given) => given });
          } catch (error) {
            expect(error).toBeInstanceOf(ConfigError);
            return;
          }
          const checked = outcome(() => schema.check(value, () => false));
          if (!(checked instanceof RecordError)) {
            expect(checked.record).toBe(value);
            return;
          }
          const nulled = outcome(() => schema.check(value, () => true));
          if (nulled instanceof RecordError) return;
          const given = value as Record<string, unknown>;
          const kept = nulled.record as Record<string, unknown>;
          expect(nulled.nullified.length).toBeGreaterThan(0);
          for (const name of Object.keys(kept)) {
            if (nulled.nullified.includes(name)) expect(kept[name]).toBe(null);
            else expect(kept[name]).toBe(given[name]);
          }
        }),
        runs(),
      );
    },
  );
});

describe('R5 transform', () => {
  const columns = parseColumns('{"a":"bigint","b":"float","c":"string","d":"bytes","e":"any"}');
  const field = fc.anything({ maxDepth: 2, withBigInt: true, withDate: true, withTypedArray: true });

  it('gives the engine each field as it is, or fails the record', { timeout: TIMEOUT_MS }, () => {
    fc.assert(
      fc.property(
        fc.record({ a: field, b: field, c: field, d: field, e: field, f: field }, { requiredKeys: [] }),
        (record) => {
          const text = outcome(() => columnsJson(columns, record));
          if (text instanceof RecordError) return;
          const row = JSON.parse(text) as Record<string, unknown>;
          expect(Object.keys(row)).not.toContain('f');
          for (const [name, value] of Object.entries(record)) {
            if (name !== 'f' && typeof value === 'number') expect(row[name]).toBe(value === 0 ? 0 : value);
            if (name !== 'f' && typeof value === 'string') expect(row[name]).toBe(value);
          }
        },
      ),
      runs(),
    );
  });

  it('takes no text for one SELECT that could leave its brackets', { timeout: TIMEOUT_MS }, () => {
    const pieces = fc.constantFrom(
      ...[
        "'",
        '"',
        '$$',
        '$a$',
        '--',
        '/*',
        '*/',
        '\n',
        '(',
        ')',
        ';',
        ' ',
        "E'",
        '\\',
        '$1',
        'x',
        '1',
        'DROP TABLE t',
      ],
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (texts) => {
        const sql = `SELECT ${texts.join('')}`;
        try {
          expect(sql.startsWith(singleSelect(sql))).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(ConfigError);
        }
      }),
      runs(),
    );
  });
});

describe('R6 template', () => {
  const pieces = fc.constantFrom(
    ...[
      '{{a}}',
      '{{b.c}}',
      '{{{a}}}',
      '{{#a}}',
      '{{/a}}',
      '{{^a}}',
      '{{#b}}',
      '{{/b}}',
      '{{.}}',
      '{{',
      '}}',
      '{{!',
      '"',
      'x',
      '{',
      '}',
      ',',
      ':',
      '[',
      ']',
      '\n',
    ],
  );

  it(
    'writes a record, fails it, or is refused at the deploy; what it makes as JSON is the data that went in',
    { timeout: TIMEOUT_MS },
    () => {
      fc.assert(
        fc.property(
          fc.array(pieces, { maxLength: 8 }),
          fc.boolean(),
          fc.anything({ maxDepth: 2 }),
          (texts, strict, record) => {
            let write: ReturnType<typeof compileTemplate>;
            try {
              write = compileTemplate(texts.join(''), { output: 'json', strict });
            } catch (error) {
              expect(error).toBeInstanceOf(ConfigError);
              return;
            }
            const written = outcome(() => write(record));
            if (!(written instanceof RecordError))
              expect(() => JSON.parse(written.text) as unknown).not.toThrow();
          },
        ),
        runs(),
      );
    },
  );

  it('never lets a text leave its quotes', { timeout: TIMEOUT_MS }, () => {
    const write = compileTemplate('{"before":1,"text":"{{text}}","after":{{value}}}', {
      output: 'json',
      strict: true,
    });
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), plain, (text, value) => {
        if (typeof value === 'string') return;
        expect(write({ text, value }).value).toEqual({ before: 1, text, after: value });
      }),
      runs(20_000),
    );
  });
});
