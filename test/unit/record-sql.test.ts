import { describe, expect, it } from 'vitest';
import { ConfigError } from '#lib/errors/errors';
import { RecordError } from '#lib/record/record-error';
import { columnsJson, parseColumns } from '#lib/record/sql/columns';
import { singleSelect } from '#lib/record/sql/statement';

describe('R5 one SELECT', () => {
  it.each([
    'SELECT 1 AS a',
    'select * from s',
    '/* a; /* b ) */ */ SELECT 1 -- ; )',
    `SELECT ';)' AS a, 'it''s' AS "b;)", E'\\';)' AS c`,
    'SELECT $$;)$$ AS a, $tag$ $$;) $tag$ AS b',
    'WITH x AS (SELECT 1 AS a) SELECT a FROM x',
    'SELECT a$1 FROM s',
    'SELECT (1 + (2)) AS a',
  ])('takes %s', (sql) => {
    expect(singleSelect(sql)).toBe(sql);
  });

  it('takes a semicolon and comments at the end', () => {
    expect(singleSelect('SELECT 1 AS a; -- done\n ')).toBe('SELECT 1 AS a');
  });

  it.each([
    '',
    '-- nothing',
    'DELETE FROM s',
    'INSERT INTO s VALUES (1)',
    'VALUES (1)',
    'SELECT 1; SELECT 2',
    'SELECT 1; DROP TABLE s',
    'SELECT 1) AS q; DROP TABLE s; SELECT * FROM (SELECT 1',
    'SELECT 1) AS q, (SELECT 2',
    'SELECT (1',
    "SELECT 'open",
    'SELECT "open',
    'SELECT 1 /* open',
    "SELECT '\\'; DROP TABLE s; --'",
    'SELECT $1',
    'SELECT $$a$$; SELECT $$b$$',
  ])('refuses %j', (sql) => {
    const run = () => singleSelect(sql);
    expect(run).toThrow(ConfigError);
    expect(run).toThrow(expect.objectContaining({ code: 'ERR_SLUICE_TRANSFORM_EXPRESSION' }) as Error);
  });
});

describe('R5 columns', () => {
  const columns = parseColumns('{"id":"bigint","temp":"float?","raw":"bytes","all":"any"}');

  it('are PostgreSQL’s types', () => {
    expect(columns.map(({ type }) => type)).toEqual(['bigint', 'double precision', 'bytea', 'jsonb']);
  });

  it.each(['', '[]', '{}', '{"a":"floot"}', '{"a":["int"]}', '{"":"int"}', '{"a":'])(
    'are refused: %s',
    (text) => {
      expect(() => parseColumns(text)).toThrow(
        expect.objectContaining({ code: 'ERR_SLUICE_TRANSFORM_COLUMNS' }) as Error,
      );
    },
  );

  it('take the declared fields of a record, and no other', () => {
    const record = { id: 9007199254740993n, temp: 1.5, raw: Buffer.from('a'), all: { b: [1] }, more: 1 };
    expect(columnsJson(columns, record)).toBe(
      '{"id":"9007199254740993","temp":1.5,"raw":"\\\\x61","all":{"b":[1]}}',
    );
    expect(columnsJson(columns, Object.create({ id: 1 }))).toBe('{}');
  });

  it('refuse a record that would reach the engine changed', () => {
    for (const record of [
      { temp: NaN },
      { all: [Infinity] },
      { temp: Buffer.from('a') },
      null,
      [1],
      'x',
      5,
    ]) {
      expect(() => columnsJson(columns, record)).toThrow(RecordError);
    }
  });
});
