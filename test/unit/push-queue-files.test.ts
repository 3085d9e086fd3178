import { describe, expect, it } from 'vitest';
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

  it('tries a file anew that could not be opened', async () => {
    const stores = new OpenStores();
    const first = stores.claim('f', () => Promise.reject(new Error('locked')));
    await expect(first.opened).rejects.toThrow('locked');
    await first.release(settled, 'now');
    const second = stores.claim('f', () => Promise.resolve(new MemoryStore()));
    await expect(second.opened).resolves.toBeInstanceOf(MemoryStore);
  });
});
