import { describe, expect, it } from 'vitest';
import type { QueueStore } from '#lib/queue/contract';
import { MemoryStore } from '#lib/queue/memory-store';
import { OpenStores } from '#lib/queue/open-stores';
import { waitFor } from '../harness/wait';
import { flush } from './drain-fixture';

const settled = Promise.resolve();

describe('the queue files that are open', () => {
  it('lets one live node have a file and tells the second why not', async () => {
    const stores = new OpenStores();
    const first = stores.claim('push_queue.db', () => Promise.resolve(new MemoryStore()));
    expect(() => stores.claim('push_queue.db', () => Promise.resolve(new MemoryStore()))).toThrow(
      expect.objectContaining({ code: 'ERR_SLUICE_QUEUE_NAME_TAKEN' }),
    );
    await first.release(settled, 'now');
    expect(() => stores.claim('push_queue.db', () => Promise.resolve(new MemoryStore()))).not.toThrow();
  });

  it('opens a file again only after it has been closed', async () => {
    const order: string[] = [];
    let letClose: () => void = () => undefined;
    class Slow extends MemoryStore {
      override async close(): Promise<void> {
        await new Promise<void>((resolve) => (letClose = resolve));
        order.push('closed');
      }
    }
    const stores = new OpenStores();
    const open = () => {
      order.push('opened');
      return Promise.resolve(new Slow());
    };
    const first = stores.claim('f', open);
    await first.opened;
    const released = first.release(settled, 'now');
    await flush();
    const second = stores.claim('f', open);
    await flush();
    expect(order).toEqual(['opened']);
    letClose();
    await Promise.all([released, second.opened]);
    expect(order).toEqual(['opened', 'closed', 'opened']);
  });

  it('N13 hands a store with deliveries in flight to the next node, and closes it when nobody takes it', async () => {
    let closed = 0;
    class Counted extends MemoryStore {
      override close(): Promise<void> {
        closed += 1;
        return super.close();
      }
    }
    const stores = new OpenStores();
    const open = () => Promise.resolve(new Counted());
    const first = stores.claim('f', open);
    const store = await first.opened;
    let end: () => void = () => undefined;
    await first.release(new Promise<void>((resolve) => (end = resolve)), 'when_settled');
    const second = stores.claim('f', open);
    expect(await second.opened).toBe(store);
    end();
    await second.predecessorSettled;
    await flush();
    expect(closed).toBe(0);
    await second.release(settled, 'now');
    expect(closed).toBe(1);
  });

  it('N13 keeps a store open until a deploy has ended, for the next node', async () => {
    let closed = 0;
    class Counted extends MemoryStore {
      override close(): Promise<void> {
        closed += 1;
        return super.close();
      }
    }
    const stores = new OpenStores();
    const open = () => Promise.resolve(new Counted());
    const deploy = () => {
      let end: () => void = () => undefined;
      return { ended: new Promise<void>((resolve) => (end = resolve)), end: () => end() };
    };
    const [first, second] = [deploy(), deploy()];
    const claim = stores.claim('f', open);
    const store = await claim.opened;
    await claim.release(settled, first.ended);
    await flush();
    const next = stores.claim('f', open);
    expect(await next.opened).toBe(store);
    first.end();
    await flush();
    expect(closed).toBe(0);
    await next.release(settled, second.ended);
    await flush();
    expect(closed).toBe(0);
    second.end();
    await waitFor('the store to be closed', () => closed === 1);
    expect(await stores.claim('f', open).opened).not.toBe(store);
  });

  it('O63 tells the last owner of a store that nobody took over, before it is closed', async () => {
    const stores = new OpenStores(1);
    const told: number[] = [];
    const tell = (store: QueueStore) => told.push(store.counts().records);
    const open = () => Promise.resolve(new MemoryStore());
    const claim = stores.claim('f', open);
    await (await claim.opened).append(Buffer.from('a'));
    await claim.release(settled, 'linger', tell);
    const next = stores.claim('f', open);
    await (await next.opened).append(Buffer.from('b'));
    await next.release(settled, 'linger', tell);
    await waitFor('the store to be closed', () => told.length > 0);
    await flush();
    expect(told).toEqual([2]);
  });

  it('N13 tries a file that could not be had yet at once for the node that a deploy puts in the place', async () => {
    const stores = new OpenStores();
    let faults = 0;
    const first = stores.claim(
      'f',
      () => Promise.reject(new Error('locked')),
      () => (faults += 1),
    );
    await waitFor('the failure', () => faults === 1);
    await first.release(settled, new Promise(() => undefined));
    const second = stores.claim('f', () => Promise.resolve(new MemoryStore()));
    await expect(second.opened).resolves.toBeInstanceOf(MemoryStore);
  });

  it('closes a store whose deliveries never end after a while', async () => {
    let closed = false;
    class Counted extends MemoryStore {
      override close(): Promise<void> {
        closed = true;
        return super.close();
      }
    }
    const stores = new OpenStores(1);
    const claim = stores.claim('f', () => Promise.resolve(new Counted()));
    await claim.release(new Promise(() => undefined), 'now');
    expect(closed).toBe(true);
  });

  it('O63 keeps a volatile store for the next node, and closes it when none comes', async () => {
    let closed = 0;
    class Counted extends MemoryStore {
      override close(): Promise<void> {
        closed += 1;
        return super.close();
      }
    }
    const stores = new OpenStores(20);
    const open = () => Promise.resolve(new Counted());
    const first = stores.claim('f', open);
    const store = await first.opened;
    await first.release(settled, 'linger');
    const second = stores.claim('f', open);
    expect(await second.opened).toBe(store);
    await second.release(settled, 'now');
    expect(closed).toBe(1);
    const third = stores.claim('f', open);
    await third.opened;
    await third.release(settled, 'linger');
    await waitFor('the store to be closed', () => closed === 2);
  });

  it('opens a file that could not be had as soon as it can, and tells each time why not', async () => {
    const delays: number[] = [];
    let retry: () => void = () => undefined;
    const stores = new OpenStores(undefined, {
      set(callback, ms) {
        delays.push(ms);
        retry = callback;
        return undefined;
      },
      clear: () => undefined,
    });
    const faults: string[] = [];
    const store = new MemoryStore();
    let tries = 0;
    const open = () => {
      tries += 1;
      return tries > 7 ? Promise.resolve(store) : Promise.reject(new Error(`locked ${tries}`));
    };
    const claim = stores.claim('f', open, (fault) => faults.push(fault.message));
    for (let failed = 1; failed <= 7; failed += 1) {
      await waitFor('the failure', () => delays.length === failed);
      retry();
    }
    expect(await claim.opened).toBe(store);
    expect(faults).toEqual([1, 2, 3, 4, 5, 6, 7].map((n) => `locked ${n}`));
    expect(delays).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  });

  it('a file that could not be had is tried no more once its node is gone, and at once for the next node', async () => {
    const stores = new OpenStores();
    let tries = 0;
    const failing = () => {
      tries += 1;
      return Promise.reject(new Error('locked'));
    };
    let faults = 0;
    const first = stores.claim('f', failing, () => (faults += 1));
    await waitFor('the failure', () => faults === 1);
    await first.release(settled, 'now');
    await expect(first.opened).rejects.toThrow('locked');
    expect(tries).toBe(1);
    const second = stores.claim('f', () => Promise.resolve(new MemoryStore()));
    await expect(second.opened).resolves.toBeInstanceOf(MemoryStore);
  });
});
