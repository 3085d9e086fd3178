import { describe, expect, it } from 'vitest';
import { isExact } from '#lib/record/exact-numbers';
import { parseJson } from '#lib/record/json';
import { parseNdjson } from '#lib/record/ndjson';
import { RecordError } from '#lib/record/record-error';

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof RecordError) return error.code;
    throw error;
  }
  return 'none';
}

describe('R3 JSON', () => {
  it.each([
    '{"a":1,"a":2}',
    '{"a":1,"\\u0061":2}',
    '{"x":[{"b":{},"c":1,"b" : 2}]}',
    '{"\\"":1,"\\"":2}',
    '{"":0,"":0}',
  ])('refuses %s for a key that is there twice', (text) => {
    expect(codeOf(() => parseJson(text))).toBe('ERR_SLUICE_DECODE_KEY');
  });

  it.each([
    '{"a":{"a":1},"b":{"a":2}}',
    '[{"a":1},{"a":1}]',
    '{":a":":","\\":":"\\":"}',
    '{"time":"12:30:00","note":"say \\"a\\": 1"}',
    '[":", ":", "\\\\"]',
    '{"constructor":{"prototype":{"x":1}},"toString":1,"hasOwnProperty":2}',
    '{"s":"\\ud83d"}',
    '"text"',
    '0',
    'null',
  ])('takes %s as JSON.parse does', (text) => {
    expect(parseJson(text)).toEqual(JSON.parse(text));
  });

  it.each(['{"__proto__":{"x":1}}', '[{"a":{"\\u005f_proto__":1}}]', '{"\\u005F\\u005fproto__":null}'])(
    'refuses %s, whose key would vanish in a copy',
    (text) => {
      expect(codeOf(() => parseJson(text))).toBe('ERR_SLUICE_DECODE_KEY');
      expect(Object.keys(Object.prototype)).toEqual([]);
    },
  );

  it('takes __proto__ as a value', () => {
    expect(parseJson('["__proto__"]')).toEqual(['__proto__']);
  });

  it.each([
    ['9007199254740991', 9007199254740991],
    ['-9007199254740991', -9007199254740991],
    ['9007199254740993', '9007199254740993'],
    ['9007199254740992', '9007199254740992'],
    ['12345678901234567890', '12345678901234567890'],
    ['-12345678901234567890', '-12345678901234567890'],
    ['1234567890123456.78', '1234567890123456.78'],
    ['99999999999999.999', '99999999999999.999'],
    ['0.1', 0.1],
    // A double as C prints it, with 17 digits, is the same double.
    ['0.10000000000000001', 0.1],
    ['3.1415926535897931', Math.PI],
    ['629013589338432.2', 629013589338432.2],
    ['3.14159265358979323846', '3.14159265358979323846'],
    ['1.50000000000000000000', 1.5],
    ['0.0000000000000000000001', 1e-22],
    ['100000000000000000000e-10', 1e10],
    ['1e400', '1e400'],
    ['-1E+400', '-1E+400'],
    ['1e-400', '1e-400'],
    ['0e400', 0],
    ['0.000e-999', 0],
    ['1e308', 1e308],
    ['5e-324', 5e-324],
    ['4.5e-324', '4.5e-324'],
    ['1e22', 1e22],
    ['-0', -0],
  ])('makes of the number %s the value %j', (literal, value) => {
    expect(parseJson(literal)).toBe(value);
    expect(parseJson(`{"a":[${literal} ,"${literal}"]}`)).toEqual({ a: [value, literal] });
  });

  it('leaves long numbers in texts and keys alone', () => {
    const text = '{"12345678901234567890":"12345678901234567890 1e999","b":"\\"12345678901234567890"}';
    expect(parseJson(text)).toEqual(JSON.parse(text));
  });

  it.each([
    '',
    ' \r\n\t ',
    '{"a":1}{"b":2}',
    '{"a":1,}',
    '{"a":1,/*x*/}',
    "{'a':1}",
    '01',
    '+1',
    'NaN',
    '12345678901234567890x',
  ])('refuses %j without quoting it', (text) => {
    let message = '';
    try {
      parseJson(text);
    } catch (error) {
      message = String(error);
    }
    expect(message).toContain('ERR_SLUICE_DECODE_SYNTAX');
    if (text.trim() !== '') expect(message).not.toContain(text);
  });

  it('takes 512 levels and no more, whatever the length', () => {
    const nested = (levels: number, inner = '1') => '{"a":'.repeat(levels) + inner + '}'.repeat(levels);
    expect(() => parseJson(nested(512))).not.toThrow();
    expect(() => parseJson(nested(512, `"${'x'.repeat(100_000)}"`))).not.toThrow();
    for (const text of [nested(513), nested(10_000), '['.repeat(100_000), '[['.repeat(20_000_000)]) {
      const run = () => parseJson(text);
      expect(codeOf(run)).toMatch(/^ERR_SLUICE_DECODE_(DEPTH|SYNTAX)$/);
    }
    expect(() => parseJson(nested(10_000))).toThrow(/nesting depth/);
  });

  it('knows which decimals a double holds', () => {
    expect(['1', '0.30000000000000004', '1e21', '123456789.123456'].every(isExact)).toBe(true);
    expect(['0.300000000000000041', '12345678901234567890', '1e309'].some(isExact)).toBe(false);
  });
});

describe('R3 NDJSON', () => {
  it('gives a record for each line that is not blank', () => {
    expect(parseNdjson('{"a":1}\r\n\n[2]\n"3"')).toEqual([{ a: 1 }, [2], '3']);
  });

  it('names the line that won’t do, and gives none of the others', () => {
    expect(() => parseNdjson('{"a":1}\n{"a":\n{"a":3}')).toThrow(/^line 2: the payload is not JSON/);
    expect(() => parseNdjson('{"a":1}\n\n{"b":1,"b":1}')).toThrow(/^line 3: the key "b" is there twice/);
  });

  it('refuses a payload without any record', () => {
    expect(codeOf(() => parseNdjson('\n \n'))).toBe('ERR_SLUICE_DECODE_SYNTAX');
  });
});
