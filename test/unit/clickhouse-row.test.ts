import { describe, expect, it } from 'vitest';
import { rowOf } from '#nodes/clickhouse-sink/clickhouse-sink.row';

const permanent = (text: string) =>
  expect.objectContaining({
    failure: 'permanent',
    message: expect.stringContaining(text) as string,
  }) as Error;

describe('records as rows of ClickHouse', () => {
  it('writes objects, BigInts digit by digit', () => {
    expect(rowOf({ id: 2n ** 64n, at: new Date(0), list: [1, null] }).bytes.toString()).toBe(
      '{"id":"18446744073709551616","at":"1970-01-01T00:00:00.000Z","list":[1,null]}',
    );
  });

  it('takes columns in place of the payload, those that the message lacks left out', () => {
    const row = rowOf({ other: 1 }, [
      ['id', 1],
      ['unit', undefined],
    ]);
    expect(row.bytes.toString()).toBe('{"id":1}');
    expect(() => rowOf({}, [['id', undefined]])).toThrow(permanent('no value for any column'));
  });

  it.each<[string, object, string]>([
    ['NaN', { v: { a: [NaN] } }, 'v holds NaN'],
    ['an infinity', { id: 1, v: -Infinity }, 'v holds -Infinity'],
    ['a Map', { v: { a: new Map() } }, 'v holds a Map'],
    ['a function', { v: [() => 1] }, 'v holds a function'],
    ['an invalid date', { v: new Date(NaN) }, 'v is an invalid date'],
    ['a buffer', { v: Buffer.from('a') }, 'v is a buffer'],
  ])('refuses %s, which JSON would leave out or replace', (_, payload, text) => {
    expect(() => rowOf(payload)).toThrow(permanent(text));
  });

  it('refuses a payload that refers to itself', () => {
    const circular: Record<string, unknown> = {};
    circular['self'] = circular;
    expect(() => rowOf(circular)).toThrow(permanent('circular'));
  });
});
