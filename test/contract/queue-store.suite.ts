import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HELD, type LeasedRecord, type QueueStore, type Settlement } from '#lib/queue/contract';
import { waitFor } from '../harness/wait';

export interface QueueStoreUnderTest {
  /** Opens the store, with a limit to the dead records it keeps; the same one again when called after `close`. */
  open(options?: { readonly maxDead?: number }): Promise<QueueStore>;
  /** Removes what was stored. */
  dispose(): Promise<void>;
  /** The clock the store reads, in Unix ms. */
  setNow(ms: number): void;
}

export interface QueueStoreSuite {
  readonly name: string;
  /** What is stored is still there when the store is opened again. */
  readonly persistent: boolean;
  make(): Promise<QueueStoreUnderTest>;
}

const record = (text: string, bytes = text.length) => Buffer.from(text.padEnd(bytes, '.'));
const textOf = ({ record: bytes }: LeasedRecord) => Buffer.from(bytes).toString().replace(/\.+$/, '');
const texts = (leases: readonly LeasedRecord[]) => leases.map(textOf);
const ALL = [1000, 2 ** 30] as const;

/** The promises of lib/queue/contract.ts, for any store. */
export function describeQueueStore({ name, persistent, make }: QueueStoreSuite): void {
  describe(`${name} queue store`, () => {
    let under: QueueStoreUnderTest;
    let store: QueueStore;
    const done = (seq: number) => store.settle({ seq, outcome: 'done' });
    const retry = (seq: number, dueAt: number, more: Partial<Settlement> = {}) =>
      store.settle({ seq, outcome: 'retry', dueAt, spend: true, unknown: false, ...more } as Settlement);
    const appendAll = (...names: string[]) => Promise.all(names.map((text) => store.append(record(text))));

    beforeEach(async () => {
      under = await make();
      under.setNow(1_000_000);
      store = await under.open();
    });
    afterEach(async () => {
      await store.close();
      await under.dispose();
    });

    it('O5 gives out records in the order of their append, each once', async () => {
      const results = await appendAll('a', 'b', 'c');
      expect(results.every(({ duplicate }) => !duplicate)).toBe(true);
      const seqs = results.map(({ seq }) => seq);
      expect(seqs).toEqual([...seqs].sort((x, y) => x - y));
      expect(new Set(seqs).size).toBe(3);
      const leases = await store.lease(2, 2 ** 30);
      expect(texts(leases)).toEqual(['a', 'b']);
      expect(leases.map(({ seq }) => seq)).toEqual(seqs.slice(0, 2));
      expect(leases[0]).toMatchObject({ attempts: 0, unknowns: 0, storedAt: 1_000_000 });
      expect(texts(await store.lease(...ALL))).toEqual(['c']);
      expect(await store.lease(...ALL)).toEqual([]);
    });

    it('O15 leaves room for queued records while parked ones are due, if asked to', async () => {
      await appendAll('p1', 'p2', 'p3', 'p4', 'p5');
      for (const { seq } of await store.lease(...ALL)) await retry(seq, 1_000_000);
      await appendAll('q1', 'q2', 'q3');
      const some = await store.lease(4, 2 ** 30, 2);
      expect(texts(some)).toEqual(['p1', 'p2', 'q1', 'q2']);
      expect(texts(await store.lease(1, 2 ** 30, 2))).toEqual(['q3']);
      // Nothing queued is left that could use the room.
      expect(texts(await store.lease(1, 2 ** 30, 2))).toEqual(['p3']);
      await done(some[0]?.seq ?? 0);
      await done(some[1]?.seq ?? 0);
      await appendAll('q4');
      expect(texts(await store.lease(2, 2 ** 30, 2))).toEqual(['p4', 'q4']);
    });

    it('O5 counts records and bytes as stored, as of the last commit', async () => {
      expect(store.counts()).toMatchObject({
        records: 0,
        bytes: 0,
        parked: 0,
        dead: 0,
        oldestStoredAt: undefined,
      });
      await store.append(record('a', 100));
      under.setNow(2_000_000);
      await store.append(record('b', 50));
      expect(store.counts()).toMatchObject({ records: 2, bytes: 150, oldestStoredAt: 1_000_000 });
      const [first] = await store.lease(1, 2 ** 30);
      expect(store.counts()).toMatchObject({ records: 2, bytes: 150 });
      await done(first?.seq ?? 0);
      expect(store.counts()).toMatchObject({ records: 1, bytes: 50 });
    });

    it('leases no more bytes than asked for, but always one record', async () => {
      await store.append(record('a', 1000));
      await store.append(record('b', 1000));
      await store.append(record('c', 1000));
      expect(texts(await store.lease(10, 10))).toEqual(['a']);
      expect(texts(await store.lease(10, 1999))).toEqual(['b']);
      expect(await store.lease(0, 2 ** 30)).toEqual([]);
      expect(texts(await store.lease(10, 2000))).toEqual(['c']);
    });

    it('keeps an empty record and one larger than any batch', async () => {
      const large = Buffer.alloc(3_000_000, 7);
      await store.append(Buffer.alloc(0));
      await store.append(large);
      await store.append(record('after'));
      const leases = await store.lease(...ALL);
      expect(leases.map(({ record: bytes }) => bytes.byteLength)).toEqual([0, 3_000_000, 5]);
      expect(large.equals(Buffer.from(leases[1]?.record ?? []))).toBe(true);
      await Promise.all(leases.map(({ seq }) => done(seq)));
      expect(store.counts()).toMatchObject({ records: 0, bytes: 0 });
    });

    it('settles in any order and gives nothing out again', async () => {
      await appendAll(...'abcdefghij');
      const leases = await store.lease(...ALL);
      for (const { seq } of [...leases].reverse().slice(3)) await done(seq);
      expect(store.counts().records).toBe(3);
      await Promise.all(leases.map(({ seq }) => done(seq)));
      expect(store.counts()).toMatchObject({ records: 0, bytes: 0 });
      expect(await store.lease(...ALL)).toEqual([]);
    });

    it('PQ-11 ignores the settlement of a seq that is not on lease, and never uses a seq twice', async () => {
      const first = await appendAll('a', 'b', 'c');
      const leases = await store.lease(...ALL);
      for (const { seq } of leases) await done(seq);
      const fourth = await store.append(record('d'));
      expect(fourth.seq).toBeGreaterThan(first[2]?.seq ?? Infinity);
      await done(first[2]?.seq ?? 0);
      await done(fourth.seq);
      await done(999_999);
      expect(texts(await store.lease(...ALL))).toEqual(['d']);
    });

    it('parks a failed record until it is due, and then gives it out before newer ones', async () => {
      await appendAll('a', 'b');
      const [first] = await store.lease(1, 2 ** 30);
      await retry(first?.seq ?? 0, 1_000_500);
      expect(store.counts()).toMatchObject({ records: 2, parked: 1, bytes: 2 });
      expect(store.nextDueAt()).toBe(1_000_500);
      await store.append(record('c'));
      under.setNow(1_000_499);
      expect(texts(await store.lease(1, 2 ** 30))).toEqual(['b']);
      under.setNow(1_000_500);
      const leases = await store.lease(...ALL);
      expect(texts(leases)).toEqual(['a', 'c']);
      expect(leases[0]).toMatchObject({ seq: first?.seq, attempts: 1, unknowns: 0, storedAt: 1_000_000 });
      expect(store.counts().parked).toBe(0);
      expect(store.nextDueAt()).toBeUndefined();
      await done(first?.seq ?? 0);
      expect(store.counts().records).toBe(2);
    });

    it('counts attempts and unknown deliveries in a row, and spends none for a refusal', async () => {
      const { seq } = await store.append(record('a'));
      const after = async (settlement: Partial<Settlement>) => {
        await store.lease(...ALL);
        await retry(seq, 1_000_000, settlement);
        const [lease] = await store.lease(...ALL);
        await retry(seq, 1_000_000, { spend: false, unknown: false });
        return [lease?.attempts, lease?.unknowns];
      };
      expect(await after({ spend: true, unknown: true })).toEqual([1, 1]);
      expect(await after({ spend: true, unknown: true })).toEqual([2, 2]);
      expect(await after({ spend: false, unknown: false })).toEqual([2, 2]);
      expect(await after({ spend: true, unknown: false })).toEqual([3, 0]);
    });

    it('N16 keeps what is held until it is asked for, or released', async () => {
      await appendAll('head', 'a', 'b', 'c');
      const leases = await store.lease(...ALL);
      const [head = 0, a = 0, b = 0, c = 0] = leases.map(({ seq }) => seq);
      for (const seq of [a, b, c]) await retry(seq, HELD, { spend: false });
      expect(store.counts()).toMatchObject({ records: 4, parked: 3 });
      expect(store.nextDueAt()).toBeUndefined();
      await retry(head, 1_005_000);
      under.setNow(9_000_000_000_000);
      expect(texts(await store.lease(...ALL))).toEqual(['head']);
      const found = await store.parkedAfter(a, 10);
      expect(found.map(({ seq, dueAt }) => [seq, dueAt])).toEqual([
        [b, HELD],
        [c, HELD],
      ]);
      expect(Buffer.from(found[0]?.record ?? []).toString()).toBe('b');
      expect(await store.parkedAfter(0, 1)).toMatchObject([{ seq: a }]);

      const { leased, later } = await store.leaseParked([c, 999, head, a]);
      expect([texts(leased), later]).toEqual([['c', 'a'], []]);
      expect(leased[0]).toMatchObject({ attempts: 0, unknowns: 0, crashes: 0 });
      await done(a);
      await done(c);
      await retry(head, 5000);
      await store.releaseHeld();
      expect(store.nextDueAt()).toBe(5000);
      expect(texts(await store.lease(...ALL))).toEqual(['head', 'b']);
      expect(await store.parkedAfter(0, 10)).toEqual([]);
    });

    it('gives the earliest due time of those that wait', async () => {
      await appendAll('a', 'b', 'c');
      const leases = await store.lease(...ALL);
      await retry(leases[0]?.seq ?? 0, 1_003_000);
      await retry(leases[1]?.seq ?? 0, 1_001_000);
      await retry(leases[2]?.seq ?? 0, 1_002_000);
      expect(store.nextDueAt()).toBe(1_001_000);
      under.setNow(1_001_500);
      expect(texts(await store.lease(...ALL))).toEqual(['b']);
      expect(store.nextDueAt()).toBe(1_002_000);
    });

    it('O66 moves a dead record out of the queue and counts it', async () => {
      await appendAll('a', 'b');
      const leases = await store.lease(...ALL);
      await store.settle({
        seq: leases[0]?.seq ?? 0,
        outcome: 'dead',
        reason: 'refused for good',
        code: 'X',
      });
      expect(store.counts()).toMatchObject({ records: 1, bytes: 1, dead: 1 });
      await retry(leases[1]?.seq ?? 0, 1_000_000);
      const [again] = await store.lease(...ALL);
      await store.settle({ seq: again?.seq ?? 0, outcome: 'dead', reason: 'refused for good', code: 'X' });
      expect(store.counts()).toMatchObject({ records: 0, bytes: 0, parked: 0, dead: 2 });
      expect(await store.lease(...ALL)).toEqual([]);
    });

    it('O66 keeps a bounded number of dead records', async () => {
      await store.close();
      store = await under.open({ maxDead: 3 });
      await appendAll('a', 'b', 'c', 'd', 'e');
      for (const { seq } of await store.lease(...ALL)) {
        await store.settle({ seq, outcome: 'dead', reason: 'r', code: 'X' });
      }
      expect(store.counts()).toMatchObject({ records: 0, dead: 3 });
    });

    it('stores a record with a remembered key once, also after it was delivered', async () => {
      const first = await store.append(record('a'), { key: 'k' });
      expect(await store.append(record('other'), { key: 'k' })).toEqual({ seq: first.seq, duplicate: true });
      const burst = await Promise.all(
        ['x', 'k', 'x', 'y', 'x'].map((key) => store.append(record(key), { key })),
      );
      expect(burst.map(({ duplicate }) => duplicate)).toEqual([false, true, true, false, true]);
      expect(burst[2]?.seq).toBe(burst[0]?.seq);
      const leases = await store.lease(...ALL);
      expect(texts(leases)).toEqual(['a', 'x', 'y']);
      for (const { seq } of leases) await done(seq);
      expect((await store.append(record('a'), { key: 'k' })).duplicate).toBe(true);
      expect(store.counts().records).toBe(0);
    });

    it('N1 takes a key for new once it is older than the append asks for', async () => {
      const first = await store.append(record('a'), { key: 'k' });
      under.setNow(1_000_100);
      const inWindow = { key: 'k', keySince: 1_000_000 };
      expect(await store.append(record('a'), inWindow)).toEqual({ seq: first.seq, duplicate: true });
      const second = await store.append(record('b'), { key: 'k', keySince: 1_000_001 });
      expect(second.duplicate).toBe(false);
      expect(store.counts().records).toBe(2);
      // From then on the key stands for the new one.
      const later = { key: 'k', keySince: 1_000_100 };
      expect(await store.append(record('b'), later)).toEqual({ seq: second.seq, duplicate: true });
      const burst = await Promise.all(
        [1, 2].map(() => store.append(record('c'), { key: 'new', keySince: 1_000_050 })),
      );
      expect(burst.map(({ duplicate }) => duplicate)).toEqual([false, true]);
    });

    it('O1 stores a record again that was evicted', async () => {
      const keyed = (key: string, more = {}) => store.append(record(key, 100), { key, ...more });
      await keyed('queued');
      await keyed('leased');
      await store.lease(2, 2 ** 30);
      await retry(1, 5_000_000);
      await keyed('parked');
      await keyed('newest', { evictDownTo: 100 });
      expect(store.counts()).toMatchObject({ records: 1, evictedTotal: 3 });
      const again = await Promise.all(['queued', 'leased', 'parked', 'newest'].map((key) => keyed(key)));
      expect(again.map(({ duplicate }) => duplicate)).toEqual([false, false, false, true]);
      expect(store.counts().records).toBe(4);
      expect((await keyed('queued')).duplicate).toBe(true);
    });

    it('O1 stores a record again that was given up, and none that was delivered', async () => {
      const append = () =>
        Promise.all(['dead', 'done'].map((key) => store.append(record(key), { key, keySince: 1 })));
      await append();
      const [dead, delivered] = await store.lease(...ALL);
      await store.settle({ seq: dead?.seq ?? 0, outcome: 'dead', reason: 'refused for good', code: 'X' });
      await done(delivered?.seq ?? 0);
      expect((await append()).map(({ duplicate }) => duplicate)).toEqual([false, true]);
      expect(store.counts()).toMatchObject({ records: 1, dead: 1 });
      expect((await append()).map(({ duplicate }) => duplicate)).toEqual([true, true]);
    });

    it('O9 deletes the oldest for room and counts them', async () => {
      for (const text of 'abcde') await store.append(record(text, 100), { evictDownTo: 300 });
      expect(store.counts()).toMatchObject({
        records: 3,
        bytes: 300,
        evictedTotal: 2,
        evictedBytesTotal: 200,
      });
      expect(texts(await store.lease(...ALL))).toEqual(['c', 'd', 'e']);
    });

    it('O9 spares what is on lease as long as it can, and then ignores its settlement', async () => {
      for (const text of 'abc') await store.append(record(text, 100));
      const leases = await store.lease(2, 2 ** 30);
      await store.append(record('d', 100), { evictDownTo: 300 });
      expect(store.counts()).toMatchObject({ records: 3, evictedTotal: 1 });
      await store.append(record('e', 200), { evictDownTo: 300 });
      expect(store.counts()).toMatchObject({ records: 2, bytes: 300, evictedTotal: 3 });
      await done(leases[0]?.seq ?? 0);
      expect(store.counts()).toMatchObject({ records: 2, bytes: 300 });
      await done(leases[1]?.seq ?? 0);
      expect(store.counts()).toMatchObject({ records: 1, bytes: 200 });
      expect(texts(await store.lease(...ALL))).toEqual(['e']);
    });

    it('O9 evicts parked records too', async () => {
      await appendAll('a');
      const [first] = await store.lease(...ALL);
      await retry(first?.seq ?? 0, 5_000_000);
      await store.append(record('b'), { evictDownTo: 1 });
      expect(store.counts()).toMatchObject({ records: 1, parked: 0, evictedTotal: 1 });
      expect(store.nextDueAt()).toBeUndefined();
    });

    it('O14 never evicts the record that it makes room for', async () => {
      await store.append(record('a', 100), { evictDownTo: 300 });
      const { seq } = await store.append(record('huge', 1000), { evictDownTo: 300 });
      expect(store.counts()).toMatchObject({ records: 1, bytes: 1000, evictedTotal: 1 });
      expect((await store.lease(...ALL)).map((lease) => lease.seq)).toEqual([seq]);
    });

    it('tells of each committed change, until told to stop', async () => {
      let calls = 0;
      const stop = store.onChange(() => calls++);
      const { seq } = await store.append(record('a'));
      await waitFor('a call for the append', () => calls >= 1);
      await store.lease(...ALL);
      const before = calls;
      await done(seq);
      await waitFor('a call for the settlement', () => calls > before);
      stop();
      const after = calls;
      await store.append(record('b'));
      expect(calls).toBe(after);
    });

    it('finishes what it was given before it closes, and refuses what comes later', async () => {
      const appends = Promise.all('abc'.split('').map((text) => store.append(record(text))));
      await store.close();
      expect(await appends).toHaveLength(3);
      await expect(store.append(record('d'))).rejects.toMatchObject({ name: 'StoreError' });
      await expect(store.lease(1, 1)).rejects.toMatchObject({ name: 'StoreError' });
      await expect(done(1)).rejects.toMatchObject({ name: 'StoreError' });
      await store.close();
    });

    if (!persistent) return;

    it('O5 has everything again after a restart: queued, leased and parked, but nothing settled', async () => {
      await appendAll(...'abcdef');
      const leases = await store.lease(5, 2 ** 30);
      await done(leases[1]?.seq ?? 0);
      await retry(leases[2]?.seq ?? 0, 1_000_100, { unknown: true });
      await store.settle({ seq: leases[3]?.seq ?? 0, outcome: 'dead', reason: 'r', code: 'X' });
      const counts = store.counts();
      await store.close();
      store = await under.open();
      expect(store.counts()).toEqual(counts);
      expect(store.nextDueAt()).toBe(1_000_100);
      expect(texts(await store.lease(...ALL))).toEqual(['a', 'e', 'f']);
      under.setNow(1_000_100);
      const [parked] = await store.lease(...ALL);
      expect(parked).toMatchObject({ seq: leases[2]?.seq, attempts: 1, unknowns: 1 });
    });

    it('N1 remembers keys, their age, counters and the next seq across a restart', async () => {
      await store.append(record('a', 10), { key: 'k' });
      const last = await store.append(record('b', 10), { key: 'l', evictDownTo: 10 });
      await store.lease(...ALL);
      await done(last.seq);
      await store.close();
      under.setNow(2_000_000);
      store = await under.open();
      expect(store.counts()).toMatchObject({ records: 0, evictedTotal: 1, evictedBytesTotal: 10 });
      expect((await store.append(record('b'), { key: 'l', keySince: 1_000_000 })).duplicate).toBe(true);
      expect((await store.append(record('a'), { key: 'k' })).duplicate).toBe(false);
      expect(await store.append(record('b'), { key: 'l' })).toEqual({ seq: last.seq, duplicate: true });
      expect((await store.append(record('c'))).seq).toBeGreaterThan(last.seq);
    });
  });
}
