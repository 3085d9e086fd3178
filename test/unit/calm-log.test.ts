import { describe, expect, it } from 'vitest';
import { calmLog } from '#lib/node-red/calm-log';

describe('calmLog', () => {
  it('writes the first of a kind at once, and the others once a minute with their number', () => {
    const lines: string[] = [];
    let now = 0;
    const log = calmLog(
      (text) => lines.push(text),
      () => now,
    );
    for (let call = 0; call < 5; call += 1) log('signature', 'wrong signature');
    log('size', 'too large');
    now = 59_999;
    log('signature', 'wrong signature');
    now = 60_000;
    log('signature', 'wrong signature');
    expect(lines).toEqual(['wrong signature', 'too large', 'wrong signature (and 5 more like this since)']);
  });
});
