import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RowScanner } from '#nodes/clickhouse-sink/clickhouse-sink.scan';
import { columnsOf } from '#nodes/clickhouse-sink/clickhouse-sink.table';

const scannerOf = (columns: Readonly<Record<string, string>>, checkValues = true) =>
  new RowScanner(
    columnsOf(
      Object.entries(columns).map(([name, type]) => ({ name, type, default_type: '' })),
      checkValues,
    ),
  );
const anything = () => new RowScanner(() => ({ check: { takesNull: true } }));

function problemOf(scanner: RowScanner, text: string): string {
  try {
    return scanner.scan(Buffer.from(text)).stray ?? '';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

describe('the scanner of rows', () => {
  it('takes every object that JSON can write, in any layout', () => {
    const record = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ maxDepth: 4 }));
    fc.assert(
      fc.property(
        fc.array(record, { minLength: 1, maxLength: 5 }),
        fc.constantFrom(0, 2, '\t'),
        (records, indent) => {
          const scanner = anything();
          for (const one of records) {
            const text = JSON.stringify(one, null, indent);
            expect(problemOf(scanner, text), text).toBe('');
            expect(scanner.scan(Buffer.from(text)).bytes.toString()).toBe(text.replaceAll('\n', ' '));
          }
        },
      ),
    );
  });

  it('refuses what JSON.parse refuses', () => {
    const pieces = [
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"b"',
      '"\\u00e4"',
      '"\\x"',
      '1',
      '-',
      '01',
      '1.',
      '1e5',
      '.5',
      'null',
      'nul',
      'true',
      ' ',
      '\n',
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 12 }), (parts) => {
        const text = `{${parts.join('')}}`;
        let isObject = true;
        try {
          JSON.parse(text);
        } catch {
          isObject = false;
        }
        const problem = problemOf(anything(), text);
        if (!isObject) expect(problem, text).not.toBe('');
        else if (problem !== '') expect(problem, text).toContain('twice');
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ['a second object', '{"a":1}{"a":2}', 'behind its object'],
    ['a second line', '{"a":1}\n{"a":2}', 'behind its object'],
    ['a list', '[{"a":1}]', 'no JSON object'],
    ['nothing', '', 'no JSON object'],
    ['a byte order mark', '\ufeff{"a":1}', 'no JSON object'],
    ['a line break in a text', '{"a":"x\ny"}', 'stops being one JSON object'],
    ['half of it', '{"a":{"b":1}', 'stops being one JSON object'],
    ['a key twice', '{"a":1,"b":2,"a":3}', 'the key a is there twice'],
    ['a key twice, once in escapes', '{"ä":1,"\\u00e4":2}', 'the key ä is there twice'],
    ['a key twice inside', '{"a":{"b":1,"b":2}}', 'the key b is there twice'],
    ['too many levels', `{"a":${'['.repeat(600)}${']'.repeat(600)}}`, '512 levels'],
  ])('refuses %s', (_, text, problem) => {
    expect(problemOf(anything(), text)).toContain(problem);
  });

  it('finds the key twice although the row before had the same keys', () => {
    const scanner = anything();
    expect(problemOf(scanner, '{"a":1,"b":2}')).toBe('');
    expect(problemOf(scanner, '{"a":1,"a":2}')).toContain('the key a is there twice');
    expect(problemOf(scanner, '{"a":1,"b":2,"b":3}')).toContain('the key b is there twice');
    expect(problemOf(scanner, '{"b":1,"a":2}')).toBe('');
  });

  it('names the first key that is no column, and none that is one', () => {
    const scanner = scannerOf({ a: 'UInt8', ab: 'UInt8', 'n.x': 'Array(UInt8)' });
    expect(problemOf(scanner, '{"a":1,"abc":2,"b":3}')).toBe('abc');
    expect(problemOf(scanner, '{"ab":1,"a":2,"n.x":[1]}')).toBe('');
    expect(problemOf(scanner, '{"ab":1,"A":2}')).toBe('A');
  });

  it('leaves out what the server computes itself, wherever it stands', () => {
    const described = [
      { name: 'a', type: 'Int64', default_type: '' },
      { name: 'm', type: 'Int32', default_type: 'MATERIALIZED' },
      { name: 'l', type: 'Int32', default_type: 'ALIAS' },
    ];
    const scanner = new RowScanner(columnsOf(described, true));
    const sent = (text: string) => scanner.scan(Buffer.from(text)).bytes.toString();
    expect(sent('{"m":1,"a":9007199254740993}')).toBe('{"a":9007199254740993}');
    expect(sent('{"a":1 , "m":[2,{"x":3}],"l":4}')).toBe('{"a":1}');
    expect(sent('{ "l" : "é" }')).toBe('{}');
    expect(sent('{"a":1}')).toBe('{"a":1}');
  });
});

describe('values that ClickHouse would store as others', () => {
  it.each([
    ['UInt8', ['0', '255', '"7"', 'true', '1.5', '"x"'], ['256', '300', '-1', '"300"', '""', 'null']],
    ['Int8', ['-128', '127'], ['-129', '128']],
    ['Int32', ['2147483647', '-2147483648'], ['2147483648', '-2147483649']],
    [
      'UInt64',
      ['18446744073709551615', '"18446744073709551615"'],
      ['18446744073709551616', '99999999999999999999999'],
    ],
    ['Int64', ['-9223372036854775808'], ['9223372036854775808', '-9223372036854775809']],
    ['Int256', ['1'], [`${2n ** 255n}`]],
    ['Float32', ['1e38', '"nan"', '16777217'], ['1e39', '""']],
    ['Float64', ['1e308', '-1.5'], ['1e400', '-1e309', 'null']],
    ['Decimal(9, 2)', ['1.23', '1.230', '"1.2"', '12e-1', '1e3'], ['1.239', '1.2e-2', '"0.001"', '""']],
    [
      'Date',
      ['"2025-01-07"', '20095'],
      ['"1960-01-01"', '"2200-01-01"', '"2025-13-01"', '70000', '1736235881', '""'],
    ],
    ['Date32', ['"1900-01-01"', '-25567'], ['"1899-12-31"', '"2300-01-01"', '9999999']],
    [
      "DateTime('UTC')",
      ['1736235881', '"2025-01-07 07:44:41"', '"2025-01-07T07:44:41Z"'],
      ['1736235881542', '-5', '"1960-01-01 00:00:00"', '"2025-02-30 00:00:00"', 'null'],
    ],
    [
      "DateTime64(3, 'UTC')",
      ['1736235881542', '"1736235881"', '"2300-01-01 00:00:00"'],
      ['1736235881542000', '"2025-02-30 00:00:00"'],
    ],
    ['Nullable(UInt8)', ['null', '1'], ['300']],
    ['LowCardinality(Nullable(String))', ['null', '"x"'], []],
    ['LowCardinality(String)', ['"x"', '5'], ['null']],
    ["Enum8('a(' = 1, 'b' = 2)", ['"b"', '2'], ['null']],
    ['Array(UInt8)', ['[]', '[1,2]', '5'], ['[300]', '[null]', 'null']],
    ['Array(Array(Nullable(UInt8)))', ['[[null,1],[]]'], ['[[1],[256]]', '[null]']],
    ['Map(String, UInt8)', ['{"a":1}'], ['{"a":300}', '{"a":null}', '{"a":1,"a":2}']],
    [
      'Tuple(a UInt8, b Tuple(c String))',
      ['{"a":1,"b":{"c":"x"}}', '{"a":1}', '[300]'],
      ['{"a":300}', '{"d":1}', '{"b":{"x":1}}'],
    ],
    ['Tuple(UInt8, String)', ['[1,"x"]'], ['null']],
    ['Nested(a UInt8)', ['[{"a":1}]'], ['[{"a":300}]', '[{"b":1}]']],
    ['SimpleAggregateFunction(sum, UInt8)', ['1'], ['256']],
    ['Variant(UInt8, String)', ['null', '300'], []],
    ['JSON', ['{"a":null}'], ['null']],
    ['UUID', ['"61f0c404-5cb3-11e7-907b-a6006ad3dba0"'], ['null']],
  ])('for %s', (type, good, bad) => {
    const checked = scannerOf({ id: 'UInt8', v: type });
    const unchecked = scannerOf({ id: 'UInt8', v: type }, false);
    for (const value of good) expect(problemOf(checked, `{"id":1,"v":${value}}`), value).toBe('');
    for (const value of bad) {
      expect(problemOf(checked, `{"id":1,"v":${value}}`), value).not.toBe('');
      if (!value.includes('"a":1,"a"')) expect(problemOf(unchecked, `{"id":1,"v":${value}}`), value).toBe('');
    }
  });
});
