import { describe, expect, it } from 'vitest';
import { repeatOf } from '#lib/delivery/repeat';

const record = { key: 'k', receivedAt: 5000, message: { payload: 1, headers: { 'x-time': '1' } } };

describe('N1 how a record of an HTTP source is recognised when it comes again', () => {
  it('by its sender, for as long as the source recognises duplicates', () => {
    expect(repeatOf(record, 1000)).toEqual({ scope: '', since: 4000, headers: { 'x-time': '1' } });
    expect(repeatOf(record, 0)).toBeUndefined();
  });

  it('from its inbox row alone, whatever the window', () => {
    for (const dedupeMs of [0, 1000]) {
      expect(repeatOf({ ...record, row: 7 }, dedupeMs)).toEqual({ scope: 'inbox 7', since: 5000 });
    }
  });

  it('keeps the headers as they came, though the first node changes them in place', () => {
    const headers: Record<string, string> = { a: '1' };
    const repeat = repeatOf({ ...record, message: { headers } }, 1000);
    headers['b'] = '2';
    expect(repeat?.headers).toEqual({ a: '1' });
  });
});
