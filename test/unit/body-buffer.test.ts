import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { BodyBuffer } from '#lib/api/body-buffer';
import { Quota } from '#lib/quota/quota';

const MB = 2 ** 20;
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

describe('a body that comes in pieces', () => {
  it('is put together from pieces of any size', () => {
    for (const sizes of [[5], [1, 1, 1], [700, 1, 4000, 2], [0, 3, 0, 600]]) {
      const budget = new Quota(MB);
      const buffer = new BodyBuffer(MB, budget);
      const pieces = sizes.map((size, index) => Buffer.alloc(size, index + 1));
      for (const piece of pieces) expect(buffer.add(piece)).toBe(true);
      expect(buffer.take()).toEqual(Buffer.concat(pieces));
      expect(budget.used).toBe(0);
    }
  });

  it('of one byte each takes no more memory than its bytes, twice at most, and the budget knows', () => {
    const budget = new Quota(8 * MB);
    const buffer = new BodyBuffer(MB, budget);
    collectGarbage();
    const before = process.memoryUsage();
    for (let index = 0; index < MB; index += 1) buffer.add(Buffer.from([index & 255]));
    collectGarbage();
    const { external, heapUsed } = process.memoryUsage();
    expect(buffer.size).toBe(MB);
    expect(budget.used).toBeLessThanOrEqual(2 * MB);
    expect(budget.used).toBeGreaterThanOrEqual(MB);
    // A list of the pieces would hold more than 100 MB.
    expect(external - before.external + heapUsed - before.heapUsed).toBeLessThan(10 * MB);
    buffer.take();
    expect(budget.used).toBe(0);
  });

  it('stops where the budget ends, and gives all of it back', () => {
    const budget = new Quota(1000);
    budget.take(1);
    const buffer = new BodyBuffer(MB, budget);
    let added = 0;
    while (buffer.add(Buffer.alloc(50))) added += 1;
    expect(added).toBeLessThan(20);
    expect(budget.used).toBeLessThanOrEqual(1000);
    buffer.take();
    expect(budget.used).toBe(1);
  });
});
