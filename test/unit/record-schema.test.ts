import { describe, expect, it } from 'vitest';
import { ConfigError } from '#lib/errors/errors';
import { RecordError } from '#lib/record/record-error';
import { compileSchema, type Checked } from '#lib/record/schema';

const compile = (schema: unknown, coerce = false) =>
  compileSchema(JSON.stringify(schema), { coerce, clone: structuredClone });

/** The checked record, or the error's text. */
function check(schema: unknown, record: unknown, { nullify = false, coerce = false } = {}): Checked | string {
  try {
    return compile(schema, coerce).check(record, () => nullify);
  } catch (error) {
    if (error instanceof RecordError) {
      expect(error.code).toBe('ERR_SLUICE_SCHEMA_MISMATCH');
      return error.message;
    }
    throw error;
  }
}
const passes = (record: unknown): Checked => ({ record, nullified: [] });

const SENSOR = { id: 'bigint', temp: 'float', dev: 'string' };

describe('R4 the short form', () => {
  it('R21 words a mismatch as the dead-letter document does', () => {
    const record = { id: 101, temp: 'invalid_float', dev: 'sensor_A' };
    expect(check(SENSOR, record)).toBe(`Field 'temp' expected type 'float', got: "invalid_float"`);
  });

  it('lets a record pass as it is, with fields that are not named', () => {
    const record = { id: 101, temp: 21.5, dev: 'a', more: [1] };
    const checked = check(SENSOR, record);
    expect(checked).toEqual(passes(record));
    expect((checked as Checked).record).toBe(record);
  });

  it.each([
    [
      'bigint',
      [0, -5, 2 ** 53 - 1, 5n, '9223372036854775807', '12345678901234567'],
      ['5', 1.5, 2 ** 53, '9223372036854775808', true, null],
    ],
    ['int', [0, -5], [1.5, '5', NaN]],
    ['float', [0, 1.5, -1e300], ['1.5', '1e400', NaN, Infinity, true, null, undefined]],
    ['decimal', [1.5, '1234567890123456.78', '-5'], ['1e5', 'x', NaN, '1.']],
    ['string', ['', 'x'], [1, null, true]],
    ['boolean', [true, false], [0, 'true', null]],
    [
      'datetime',
      ['2024-10-15T04:00:00Z', '2024-10-15', '2024-10-15 04:00:00.123+02:00'],
      ['yesterday', '2024-13-01', 0],
    ],
    ['bytes', [Buffer.from('x')], ['x', [1]]],
    ['array', [[], [1]], [{}, 'x']],
    ['object', [{}], [[], null, 'x', Buffer.from('x')]],
    ['any', [0, '', false, [], {}], [null, undefined]],
  ])('knows what a %s is', (type, good, bad) => {
    for (const value of good) expect(check({ v: type }, { v: value })).toEqual(passes({ v: value }));
    for (const value of bad)
      expect(check({ v: type }, { v: value })).toContain(`Field 'v' expected type '${type}', got: `);
    for (const value of [null, undefined, good[0]])
      expect(check({ v: `${type}?` }, { v: value })).toEqual(passes({ v: value }));
    expect(check({ v: `${type}?` }, {})).toEqual(passes({}));
  });

  it('names fields within objects and arrays', () => {
    const schema = { pos: { lat: 'float' }, items: ['string'], rows: [{ n: 'int' }] };
    expect(check(schema, { pos: { lat: 1 }, items: [], rows: [{ n: 1 }] })).toMatchObject({ nullified: [] });
    expect(check(schema, { pos: { lat: 'x' } })).toBe(`Field 'pos.lat' expected type 'float', got: "x"`);
    expect(check(schema, { pos: 5 })).toBe(`Field 'pos' expected type 'object', got: 5`);
    expect(check(schema, { pos: { lat: 1 }, items: ['a', 2] })).toBe(
      `Field 'items[1]' expected type 'string', got: 2`,
    );
    const record = { pos: { lat: 1 }, items: [], rows: [{ n: 1 }, {}] };
    expect(check(schema, record)).toBe(`Field 'rows[1].n' expected type 'int', got: nothing`);
  });

  it('reads own fields only, and takes fields called as keywords or as properties of objects', () => {
    expect(check({ constructor: 'any' }, {})).toContain(
      `Field 'constructor' expected type 'any', got: nothing`,
    );
    const schema = { type: 'string', title: 'string', required: 'boolean' };
    expect(check(schema, { type: 'a', title: 'b', required: true })).toMatchObject({ nullified: [] });
  });

  it('shows at most a short piece of the value', () => {
    const message = check({ v: 'int' }, { v: 'x'.repeat(100_000) }) as string;
    expect(message.length).toBeLessThan(120);
    expect(check({ v: 'int' }, { v: { secret: 1 } })).toBe(`Field 'v' expected type 'int', got: an object`);
  });

  it('R10 nullify sets exactly the fields that do not fit to null, in a copy', () => {
    const record = { id: 101, temp: 'invalid_float', more: { a: 1 } };
    expect(check(SENSOR, record, { nullify: true })).toEqual({
      record: { id: 101, temp: null, dev: null, more: { a: 1 } },
      nullified: ['temp', 'dev'],
    });
    expect(record).toEqual({ id: 101, temp: 'invalid_float', more: { a: 1 } });
    const schema = { pos: { lat: 'float', lon: 'float' }, rows: [{ n: 'int' }] };
    expect(
      check(schema, { pos: { lat: 'x', lon: 2 }, rows: [{ n: 'x' }, { n: 2 }] }, { nullify: true }),
    ).toEqual({
      record: { pos: { lat: null, lon: 2 }, rows: [{ n: null }, { n: 2 }] },
      nullified: ['pos.lat', 'rows[0].n'],
    });
  });

  it('R10 nullify can do nothing for what is no record', () => {
    for (const record of [null, 5, 'text', [1], undefined]) {
      expect(check(SENSOR, record, { nullify: true })).toContain("The record expected type 'object', got: ");
    }
  });

  it('coerces only if asked to, what is beyond doubt, in a copy', () => {
    const record = { id: '7', temp: '21.5', dev: 5, flag: 'true' };
    const schema = { ...SENSOR, flag: 'boolean' };
    expect(check(schema, record, { coerce: true })).toEqual(
      passes({ id: 7, temp: 21.5, dev: '5', flag: true }),
    );
    expect(record.id).toBe('7');
    for (const temp of ['', ' ', 'x', '0x10', '12345678901234567890.5', 'Infinity', '1,5']) {
      expect(check({ temp: 'float' }, { temp }, { coerce: true })).toContain(`expected type 'float'`);
    }
  });
});

const SCHEMA = {
  type: 'object',
  required: ['id', 'temp'],
  additionalProperties: false,
  properties: {
    id: { type: 'integer' },
    temp: { type: 'number', minimum: -273.15 },
    unit: { enum: ['C', 'F'] },
    pos: { type: 'object', properties: { lat: { type: ['number', 'null'] } } },
    tags: { type: 'array', items: { type: 'string' } },
    at: { type: 'string', format: 'date-time' },
  },
};

describe('R4 JSON Schema', () => {
  it.each([
    [{ id: 101, temp: 'invalid_float' }, `Field 'temp' expected type 'number', got: "invalid_float"`],
    [{ temp: 1 }, `Field 'id' expected type 'integer', got: nothing`],
    [{ id: 1, temp: -300 }, `Field 'temp' must be >= -273.15, got: -300`],
    [{ id: 1, temp: 1, unit: 'K' }, `Field 'unit' expected one of "C", "F", got: "K"`],
    [{ id: 1, temp: 1, pos: { lat: 'x' } }, `Field 'pos.lat' expected type 'number|null', got: "x"`],
    [{ id: 1, temp: 1, tags: ['a', 5] }, `Field 'tags[1]' expected type 'string', got: 5`],
    [{ id: 1, temp: 1, more: 5 }, `Field 'more' is not in the schema, got: 5`],
    [{ id: 1, temp: 1, at: 'now' }, `Field 'at' must match format "date-time", got: "now"`],
    [[], `The record expected type 'object', got: an array of 0`],
    [
      { id: '12345678901234567890', temp: 1 },
      `Field 'id' expected type 'integer', got: "12345678901234567890"`,
    ],
  ])('R21 says what is wrong with %j', (record, message) => {
    expect(check(SCHEMA, record)).toBe(message);
  });

  it('lets a record pass as it is', () => {
    const record = { id: 1, temp: 21.5, unit: 'C', pos: { lat: null }, tags: ['a'] };
    expect((check(SCHEMA, record) as Checked).record).toBe(record);
  });

  it('R10 nullify finds every field that does not fit', () => {
    const record = { temp: 'x', unit: 'C', tags: ['a', 5], more: 1 };
    expect(check(SCHEMA, record, { nullify: true })).toEqual({
      record: { id: null, temp: null, unit: 'C', tags: ['a', null], more: null },
      nullified: ['id', 'more', 'temp', 'tags[1]'],
    });
    expect(check(SCHEMA, 'text', { nullify: true })).toContain('The record expected');
  });

  it('coerces only if asked to, in a copy', () => {
    const record = { id: '7', temp: '21.5' };
    expect(check(SCHEMA, record)).toContain(`Field 'id' expected type 'integer', got: "7"`);
    expect(check(SCHEMA, record, { coerce: true })).toEqual(passes({ id: 7, temp: 21.5 }));
    expect(record).toEqual({ id: '7', temp: '21.5' });
  });

  it('reports a choice as one mismatch', () => {
    const schema = { type: 'object', properties: { v: { anyOf: [{ type: 'string' }, { type: 'null' }] } } };
    expect(check(schema, { v: 5 })).toBe(`Field 'v' must match a schema in anyOf, got: 5`);
    expect(check(schema, { v: 5 }, { nullify: true })).toEqual({ record: { v: null }, nullified: ['v'] });
  });

  it('knows the drafts, each with its own keywords', () => {
    const of = ($schema: string, rest: object) => ({ $schema, type: 'object', ...rest });
    const tuple = { properties: { v: { type: 'array', prefixItems: [{ type: 'string' }] } } };
    expect(check(of('https://json-schema.org/draft/2020-12/schema', tuple), { v: [5] })).toContain(`'v[0]'`);
    const dependent = { dependentRequired: { a: ['b'] } };
    expect(check(of('https://json-schema.org/draft/2019-09/schema', dependent), { a: 1 })).toContain('b');
    expect(check(of('http://json-schema.org/draft-07/schema#', { required: ['a'] }), {})).toBe(
      `Field 'a' is required, got: nothing`,
    );
  });

  it('does not run out of stack on 10,000 levels', () => {
    const schema = { $id: 'tree', type: 'object', properties: { a: { $ref: 'tree' } } };
    let deep: object = {};
    for (let level = 0; level < 10_000; level += 1) deep = { a: deep };
    expect(typeof check(schema, deep)).toMatch(/string|object/);
    expect(check(schema, deep, { nullify: true })).toBeDefined();
  });
});

describe('R4 a schema that does not compile', () => {
  it.each([
    ['', 'not JSON'],
    ['{"temp":', 'not JSON'],
    ['[]', 'not a JSON object'],
    ['"float"', 'not a JSON object'],
    ['{"temp":"floot"}', "doesn't compile"],
    ['{"tags":["string","int"]}', "doesn't compile"],
    ['{"type":"objekt","properties":{}}', "doesn't compile"],
    ['{"type":"object","requried":["a"],"properties":{}}', 'requried'],
    ['{"type":"object","properties":{"a":{"type":"string","format":"nonsense"}}}', 'nonsense'],
    ['{"type":"object","properties":{"a":{"pattern":"("}}}', "doesn't compile"],
    ['{"$ref":"#/$defs/missing"}', "doesn't compile"],
    ['{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}', '$schema'],
    ['{"$async":true,"type":"object"}', '$async'],
  ])('is refused at the deploy: %s', (text, reason) => {
    const run = () => compileSchema(text, { coerce: false, clone: structuredClone });
    expect(run).toThrow(ConfigError);
    expect(run).toThrow(expect.objectContaining({ code: 'ERR_SLUICE_SCHEMA_DEFINITION' }) as Error);
    expect(run).toThrow(reason);
  });

  it('an empty object is refused: it would check nothing', () => {
    expect(() => compile({})).toThrow(ConfigError);
  });
});
