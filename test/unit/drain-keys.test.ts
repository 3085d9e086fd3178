import { describe, expect, it } from 'vitest';
import { DONE } from '#lib/delivery/verdict';
import { HELD } from '#lib/queue/contract';
import { DrainFixture, flush, textOf, transient } from './drain-fixture';

describe('the delivery loop with an order for each key', () => {
  it('N16 a key that fails holds up its own records only, in order', async () => {
    const queue = new DrainFixture({ ordering: 'key' }, { keyOf: (lease) => textOf(lease).slice(0, 1) });
    queue.answer = (lease, text) => (text === 'a1' && lease.attempts < 2 ? transient() : DONE);
    await queue.append('a1', 'a2', 'b1', 'a3', 'b2', 'c1');
    queue.drain.resume();
    await flush();
    expect(queue.texts()).toEqual(['a1', 'b1', 'c1', 'b2']);
    await queue.clock.advance(10_000);
    expect(queue.texts().slice(4)).toEqual(['a1', 'a1', 'a2', 'a3']);
  });

  it('N16 a key that fails leaves room for any number of others: its later records wait in the store', async () => {
    const queue = new DrainFixture({ ordering: 'key' }, { keyOf: (lease) => textOf(lease).slice(0, 1) });
    let down = true;
    queue.answer = (_, text) => (text === 'a0' && down ? transient() : DONE);
    const stuck = Array.from({ length: 3000 }, (_, index) => `a${index}`);
    await queue.append(...stuck, 'b', 'c');
    queue.drain.resume();
    await queue.clock.advance(3000);
    expect(new Set(queue.texts())).toEqual(new Set(['a0', 'b', 'c']));
    expect(queue.store.counts()).toMatchObject({ records: 3000, parked: 3000 });
    down = false;
    await queue.append('a3000');
    await queue.clock.advance(60_000);
    const [first = -1] = queue.texts().flatMap((text, index) => (text === 'a1' ? [index] : []));
    expect(queue.texts().slice(first)).toEqual([...stuck.slice(1), 'a3000']);
    expect(queue.store.counts()).toMatchObject({ records: 0, parked: 0 });
  });

  it('N16 keeps the order of a key that an earlier run left parked, whatever is due first', async () => {
    const queue = new DrainFixture({ ordering: 'key' }, { keyOf: (lease) => textOf(lease).slice(0, 1) });
    await queue.append('a1', 'b1', 'a2', 'b2', 'a3');
    const due = [5000, HELD, 0, 0, HELD].map((dueAt) => (dueAt === HELD ? HELD : queue.clock.nowMs + dueAt));
    for (const [index, { seq }] of (await queue.store.lease(10, 1000)).entries()) {
      const dueAt = due[index] ?? 0;
      await queue.store.settle({ seq, outcome: 'retry', dueAt, spend: false, unknown: false });
    }
    await queue.append('a4', 'c1');
    queue.drain.resume();
    await flush();
    expect(queue.texts()).toEqual(['b1', 'c1', 'b2']);
    await queue.clock.advance(10_000);
    expect(queue.texts().slice(3)).toEqual(['a1', 'a2', 'a3', 'a4']);
    expect(queue.store.counts()).toMatchObject({ records: 0, parked: 0 });
  });

  it('N16 held records wait for nobody once the order no longer counts', async () => {
    const queue = new DrainFixture();
    await queue.append('a1', 'a2');
    for (const { seq } of await queue.store.lease(10, 1000)) {
      await queue.store.settle({ seq, outcome: 'retry', dueAt: HELD, spend: false, unknown: false });
    }
    queue.drain.resume();
    await flush();
    expect(queue.texts()).toEqual(['a1', 'a2']);
  });

  it('N16 goes on with a key of which held records were evicted', async () => {
    const queue = new DrainFixture({ ordering: 'key' }, { keyOf: () => 'same' });
    let down = true;
    queue.answer = () => (down ? transient() : DONE);
    await queue.append(...Array.from({ length: 40 }, (_, index) => String(10 + index)));
    queue.drain.resume();
    await flush();
    expect(queue.store.counts().parked).toBe(40);
    await queue.store.append(Buffer.from('50'), { evictDownTo: 6 });
    expect(queue.store.counts().evictedTotal).toBe(38);
    down = false;
    await queue.clock.advance(10_000);
    expect(queue.texts().at(-1)).toBe('50');
    expect(queue.store.counts()).toMatchObject({ records: 0, parked: 0 });
  });

  it('N16 goes on with a key whose waiting record was evicted from the store', async () => {
    const queue = new DrainFixture({ ordering: 'key' }, { keyOf: () => 'same' });
    queue.answer = (_, text) => (text === 'a' ? transient() : DONE);
    await queue.append('a', 'b');
    queue.drain.resume();
    await flush();
    expect(queue.texts()).toEqual(['a']);
    await queue.store.append(Buffer.from('c'), { evictDownTo: 2 });
    expect(queue.store.counts().evictedTotal).toBe(1);
    await queue.clock.advance(10_000);
    expect(queue.texts()).toEqual(['a', 'b', 'c']);
  });
});
