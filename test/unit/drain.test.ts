import { describe, expect, it } from 'vitest';
import { DONE } from '#lib/delivery/verdict';
import { MemoryStore } from '#lib/queue/memory-store';
import { aborted, DrainFixture, FakeClock, failed, flush, transient, unknown } from './drain-fixture';

describe('the delivery loop', () => {
  it('O1 deletes a record only after its delivery is done', async () => {
    const queue = new DrainFixture();
    queue.answer = undefined;
    await queue.append('a');
    queue.drain.resume();
    await flush();
    expect(queue.store.counts().records).toBe(1);
    queue.attempts[0]?.end(DONE);
    await flush();
    expect(queue.store.counts()).toMatchObject({ records: 0, bytes: 0 });
  });

  it('O52 has more to give while it sends, and none while it waits for a verdict, for room or for a record', async () => {
    const queue = new DrainFixture({ maxInFlight: 2 });
    const whileSending: boolean[] = [];
    queue.answer = () => void whileSending.push(queue.drain.hasMore);
    await queue.append('a', 'b', 'c');
    expect(queue.drain.hasMore).toBe(false);
    queue.drain.resume();
    await flush();
    expect(whileSending).toEqual([true, true]);
    expect(queue.drain.hasMore).toBe(false);
    queue.readiness = 'sink_full';
    for (const { end } of queue.attempts) end(DONE);
    await flush();
    expect(queue.drain.hasMore).toBe(false);
    queue.readiness = 'ready';
    queue.answer = () => DONE;
    await queue.clock.advance(1000);
    expect(queue.store.counts().records).toBe(0);
    expect(queue.drain.hasMore).toBe(false);
  });

  it('keeps at most maxInFlight records out, oldest first', async () => {
    const queue = new DrainFixture({ maxInFlight: 2 });
    queue.answer = undefined;
    await queue.append('a', 'b', 'c');
    queue.drain.resume();
    await flush();
    expect(queue.texts()).toEqual(['a', 'b']);
    expect(queue.drain.inFlight).toBe(2);
    queue.attempts[1]?.end(DONE);
    await flush();
    expect(queue.texts()).toEqual(['a', 'b', 'c']);
    expect(queue.store.counts().records).toBe(2);
  });

  it('retries a transient failure with doubling, bounded, jittered delays and without end', async () => {
    const queue = new DrainFixture({ retryInitialMs: 1000, retryMaxMs: 4000 });
    queue.answer = () => transient();
    await queue.append('a');
    queue.drain.resume();
    await queue.clock.advance(30_000);
    const times = queue.attempts.map(({ at }) => at);
    const delays = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    // random() = 0.5: three quarters of the step of 1, 2, 4, 4, … seconds
    expect(delays.slice(0, 5)).toEqual([750, 1500, 3000, 3000, 3000]);
    expect(queue.attempts.at(-1)?.lease.attempts).toBe(queue.attempts.length - 1);
    expect(queue.store.counts()).toMatchObject({ records: 1, dead: 0 });
  });

  it('lets other records pass one that waits for its next attempt', async () => {
    const queue = new DrainFixture({ maxInFlight: 1 });
    queue.answer = (_, text) => (text === 'bad' ? transient() : DONE);
    await queue.append('bad', 'b', 'c');
    queue.drain.resume();
    await flush();
    expect(queue.texts()).toEqual(['bad', 'b', 'c']);
    expect(queue.store.counts()).toMatchObject({ records: 1, parked: 1 });
    expect(queue.drain.state).toBe('retrying');
  });

  it('makes a record dead after five unknown outcomes in a row', async () => {
    const queue = new DrainFixture();
    queue.answer = () => unknown;
    await queue.append('a');
    queue.drain.resume();
    await queue.clock.advance(120_000);
    expect(queue.attempts).toHaveLength(5);
    expect(queue.store.counts()).toMatchObject({ records: 0, dead: 1 });
    expect(queue.settled.at(-1)?.settlement).toMatchObject({
      outcome: 'dead',
      code: 'ERR_SLUICE_QUEUE_OUTCOME_UNKNOWN',
    });
  });

  it('counts unknown outcomes anew after another failure', async () => {
    const queue = new DrainFixture();
    queue.answer = () => (queue.attempts.length % 5 === 0 ? transient() : unknown);
    await queue.append('a');
    queue.drain.resume();
    await queue.clock.advance(600_000);
    expect(queue.attempts.length).toBeGreaterThan(9);
    expect(queue.store.counts()).toMatchObject({ records: 1, dead: 0 });
  });

  it('makes a permanent failure dead at once, with its own code', async () => {
    const queue = new DrainFixture();
    queue.answer = () => failed('permanent', 'ERR_SLUICE_REST_REJECTED');
    await queue.append('a');
    queue.drain.resume();
    await flush();
    expect(queue.settled).toEqual([
      {
        text: 'a',
        settlement: {
          seq: 1,
          outcome: 'dead',
          code: 'ERR_SLUICE_REST_REJECTED',
          reason: 'failed with ERR_SLUICE_REST_REJECTED',
        },
      },
    ]);
  });

  it('keeps records while the credentials are wrong, however often, and delivers them after the repair', async () => {
    const queue = new DrainFixture({ maxAttempts: 3 });
    queue.answer = () => failed('config', 'ERR_SLUICE_REST_UNAUTHORIZED');
    await queue.append('a', 'b');
    queue.drain.resume();
    await queue.clock.advance(3_600_000);
    expect(queue.store.counts()).toMatchObject({ records: 2, dead: 0 });
    expect(queue.attempts.length).toBeLessThan(200);
    queue.answer = () => DONE;
    await queue.clock.advance(60_000);
    expect(queue.store.counts()).toMatchObject({ records: 0, dead: 0 });
  });

  it('spends no attempt on a refusal by a full sink and waits before it asks again', async () => {
    const queue = new DrainFixture({ maxAttempts: 2 });
    queue.answer = () => transient('ERR_SLUICE_QUEUE_FULL');
    await queue.append(...Array.from({ length: 50 }, (_, index) => String(index)));
    queue.drain.resume();
    await queue.clock.advance(100);
    expect(queue.attempts.length).toBeLessThanOrEqual(8);
    await queue.clock.advance(60_000);
    expect(queue.store.counts()).toMatchObject({ records: 50, dead: 0 });
    expect(queue.attempts.every(({ lease }) => lease.attempts === 0)).toBe(true);
  });

  it('slows down once a whole window has failed in a row, and speeds up with the first success', async () => {
    const queue = new DrainFixture({ maxInFlight: 16 });
    queue.answer = () => transient();
    await queue.append(...Array.from({ length: 500 }, (_, index) => String(index)));
    queue.drain.resume();
    await queue.clock.advance(900);
    expect(queue.attempts.length).toBeLessThanOrEqual(32);
    queue.answer = () => DONE;
    await queue.clock.advance(70_000);
    expect(queue.store.counts().records).toBe(0);
  });

  it('waits while a sink is full and goes on when it says so', async () => {
    const queue = new DrainFixture();
    queue.readiness = 'sink_full';
    await queue.append('a');
    queue.drain.resume();
    await queue.clock.advance(5000);
    expect(queue.attempts).toHaveLength(0);
    expect(queue.drain.state).toBe('sink_full');
    queue.readiness = 'ready';
    queue.drain.wake();
    await flush();
    expect(queue.texts()).toEqual(['a']);
  });

  it('asks a full sink again by itself', async () => {
    const queue = new DrainFixture();
    queue.readiness = 'sink_full';
    await queue.append('a');
    queue.drain.resume();
    await queue.clock.advance(1000);
    queue.readiness = 'ready';
    await queue.clock.advance(1000);
    expect(queue.texts()).toEqual(['a']);
  });

  it('leases nothing while no live node is wired to the output, and says so', async () => {
    const queue = new DrainFixture();
    queue.readiness = 'no_destination';
    await queue.append('a');
    queue.drain.resume();
    await flush();
    expect(queue.drain.state).toBe('no_destination');
    expect(queue.store.counts()).toMatchObject({ records: 1, parked: 0 });
    expect(await queue.store.lease(10, 1000)).toHaveLength(1);
  });

  it('N13 sends nothing while flows are stopped, and an aborted record again at the next resume', async () => {
    const queue = new DrainFixture();
    queue.answer = undefined;
    await queue.append('a', 'b');
    queue.drain.resume();
    await flush();
    queue.drain.pause();
    for (const attempt of queue.attempts.slice(0, 2)) attempt.end(aborted);
    await queue.clock.advance(60_000);
    expect(queue.attempts).toHaveLength(2);
    queue.drain.resume();
    await flush();
    expect(queue.texts()).toEqual(['a', 'b', 'a', 'b']);
    expect(queue.attempts[2]?.lease.attempts).toBe(0);
  });

  it('does not spin when every delivery is aborted at once', async () => {
    const queue = new DrainFixture();
    queue.answer = () => aborted;
    await queue.append('a');
    queue.drain.resume();
    await queue.clock.advance(10_000);
    expect(queue.attempts.length).toBeGreaterThan(5);
    expect(queue.attempts.length).toBeLessThan(15);
  });

  it('fifo: nothing overtakes a record that waits for its next attempt', async () => {
    const queue = new DrainFixture({ ordering: 'fifo', maxInFlight: 100 });
    queue.answer = (lease, text) => (text === 'b' && lease.attempts < 2 ? transient() : DONE);
    await queue.append('a', 'b', 'c', 'd');
    queue.drain.resume();
    await queue.clock.advance(60_000);
    expect(queue.texts()).toEqual(['a', 'b', 'b', 'b', 'c', 'd']);
  });

  it.each(['none', 'key', 'fifo'] as const)(
    'O15 a clock set back by an hour delays nothing by more than its own wait (%s)',
    async (ordering) => {
      let backMs = 0;
      const clock = new FakeClock();
      const now = () => clock.nowMs - backMs;
      const store = new MemoryStore(now);
      const queue = new DrainFixture({ ordering }, { store, now, timers: clock, keyOf: () => 'same' });
      queue.answer = (lease) => (lease.attempts < 1 ? transient() : DONE);
      await store.append(Buffer.from('a'));
      queue.drain.resume();
      await clock.advance(200);
      backMs = 3_600_000;
      await clock.advance(4000);
      expect(queue.texts()).toEqual(['a', 'a']);
      expect(store.counts().records).toBe(0);
    },
  );

  it('keeps a record leased and tries again when its settlement cannot be committed', async () => {
    class Failing extends MemoryStore {
      failures = 2;
      override settle(...args: Parameters<MemoryStore['settle']>): Promise<void> {
        return this.failures-- > 0 ? Promise.reject(new Error('disk full')) : super.settle(...args);
      }
    }
    const errors: string[] = [];
    const store = new Failing();
    const queue = new DrainFixture({}, { store, onError: ({ message }) => errors.push(message) });
    await store.append(Buffer.from('a'));
    queue.drain.resume();
    await flush();
    expect(store.counts().records).toBe(1);
    await queue.clock.advance(5000);
    expect(errors).toEqual(['disk full', 'disk full']);
    expect(store.counts().records).toBe(0);
    expect(queue.attempts).toHaveLength(1);
  });

  it('takes a delivery that rejects for a transient failure', async () => {
    const queue = new DrainFixture({}, { deliver: () => Promise.reject(new TypeError('bug')) });
    await queue.append('a');
    queue.drain.resume();
    await flush();
    expect(queue.settled[0]?.settlement).toMatchObject({ outcome: 'retry', spend: true });
  });

  it('N13 leaves what was leased and not sent to the next drain, and settles what is out', async () => {
    let full = false;
    // The sink becomes full between the lease and the next record.
    const queue = new DrainFixture({}, { readiness: (bytes) => (bytes > 0 && full ? 'sink_full' : 'ready') });
    queue.answer = undefined;
    await queue.append('a', 'b', 'c');
    queue.drain.resume();
    await flush();
    expect(queue.texts()).toEqual(['a', 'b', 'c']);
    full = true;
    await queue.append('d');
    expect(await queue.store.lease(10, 1000)).toEqual([]);
    await queue.drain.close(1000);
    expect(queue.drain.state).toBe('closed');
    for (const attempt of queue.attempts) attempt.end(DONE);
    await queue.drain.settled();
    expect(queue.store.counts()).toMatchObject({ records: 1, parked: 0 });
    full = false;
    await queue.redeploy();
    expect(queue.texts()).toEqual(['a', 'b', 'c', 'd']);
  });

  it('O15 a destination that is down leaves a quarter of what may be out to records that have not failed', async () => {
    const queue = new DrainFixture({ maxInFlight: 8 });
    queue.answer = () => transient();
    await queue.append(...Array.from({ length: 40 }, (_, index) => `down${index}`));
    queue.drain.resume();
    await queue.clock.advance(120_000);
    expect(queue.store.counts().parked).toBe(40);
    queue.drain.pause();
    queue.answer = undefined;
    await queue.clock.advance(120_000);
    await queue.append(...Array.from({ length: 10 }, (_, index) => `up${index}`));
    queue.drain.resume();
    await flush();
    const out = queue.attempts.slice(-8).map(({ text }) => text.replace(/\d+$/, ''));
    expect(out.sort()).toEqual([...Array<string>(6).fill('down'), 'up', 'up']);
  });

  it('takes another bound of what may be out with the next resume', async () => {
    const queue = new DrainFixture({ maxInFlight: 2 });
    queue.answer = undefined;
    await queue.append('a', 'b', 'c', 'd');
    queue.drain.resume();
    await flush();
    expect(queue.texts()).toEqual(['a', 'b']);
    queue.drain.resume(3);
    await flush();
    expect(queue.texts()).toEqual(['a', 'b', 'c']);
  });
});
