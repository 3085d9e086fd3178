import { describe, expect, it } from 'vitest';
import { planBatch, type Column } from '#nodes/postgres-sink/postgres-sink.columns';
import { textOf } from '#nodes/postgres-sink/postgres-sink.text';

const permanent = (text: RegExp) =>
  expect.objectContaining({ failure: 'permanent', message: expect.stringMatching(text) as string }) as Error;
const failing = (value: object | string, type: string) => {
  try {
    return textOf(value, type, 'v');
  } catch (error) {
    return error;
  }
};

describe('values as PostgreSQL reads them', () => {
  it.each<[string, object | string, string, string]>([
    ['bytes for bytea', Buffer.from([0, 255]), 'bytea', '\\x00ff'],
    ['UTF-8 bytes for text', Buffer.from('añ'), 'text', 'añ'],
    ['an array for an array column', [1, null, 'a"b\\'], 'text[]', '{"1",NULL,"a\\"b\\\\"}'],
    ['an array for a JSON column', [1, { a: null }], 'jsonb', '[1,{"a":null}]'],
    ['a date', new Date(0), 'timestamp with time zone', '1970-01-01T00:00:00.000Z'],
  ])('writes %s', (_, value, type, text) => expect(textOf(value, type, 'v')).toBe(text));

  it.each<[string, object | string, string, RegExp]>([
    ['bytes that are not UTF-8', Buffer.from([0xc3, 0x28]), 'text', /^22021: .*not UTF-8/],
    ['NaN within JSON', { a: [Number.NaN] }, 'jsonb', /^22P02: .*NaN/],
    ['an infinity within JSON', { a: -Infinity }, 'json', /^22P02: .*-Infinity/],
    ['a Map, which would be stored empty', { a: new Map([[1, 2]]) }, 'jsonb', /^22P02: .*a Map/],
    ['a NUL', 'a\0b', 'text', /^22021: .*NUL/],
    ['half a surrogate pair', 'a\ud83d', 'text', /^22021: .*surrogate/],
    ['an invalid date', new Date(Number.NaN), 'date', /^22007: /],
  ])('refuses %s instead of storing something else', (_, value, type, text) => {
    expect(failing(value, type)).toEqual(permanent(text));
  });

  it('fails only the record whose own code throws while it is read', () => {
    const column: Column = { name: 'v', type: 'jsonb', isGenerated: false };
    const hostile = {
      toJSON() {
        throw new RangeError('not today');
      },
    };
    const silent = { toJSON: () => undefined };
    const rows = [hostile, { a: 1 }, silent].map((value) => ({ values: new Map([['v', value]]) }));
    const { faults, groups } = planBatch(rows, new Map([['v', column]]));
    expect([...faults.keys()]).toEqual([0, 2]);
    for (const fault of faults.values()) expect(fault).toMatchObject({ failure: 'permanent' });
    expect(groups[0]?.indexes).toEqual([1]);
  });
});
