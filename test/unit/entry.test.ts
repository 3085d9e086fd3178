import { describe, expect, it } from 'vitest';
import { refuse, type Admission } from '#lib/delivery/admission';
import { Entry, type EntryDeps, type EntryOptions, type IncomingRecord } from '#lib/delivery/entry';
import { DONE, type Verdict } from '#lib/delivery/verdict';
import type { KnownVerdict } from '#lib/inbox/contract';
import { Quota } from '#lib/quota/quota';
import { waitFor } from '../harness/wait';

const record = (key: string, digest = 'd1'): IncomingRecord => ({
  key,
  digest,
  bytes: 100,
  receivedAt: 1,
  message: { payload: key },
});

/** A promise and the means to settle it. */
function deferred<T>() {
  let resolve!: (value: T) => void;
  let reject!: (reason: Error) => void;
  const promise = new Promise<T>((fulfil, refuseIt) => {
    resolve = fulfil;
    reject = refuseIt;
  });
  return { promise, resolve, reject };
}

function rig(options: Partial<EntryOptions> = {}, deps: Partial<EntryDeps> = {}) {
  let held = 0;
  const doubleReleases: string[] = [];
  const reports: unknown[] = [];
  const refusedBy: string[] = [];
  const remembered = new Map<string, KnownVerdict>();
  const admit = (): Admission => {
    held += 1;
    let open = true;
    const release = () => {
      if (open) held -= 1;
      open = false;
    };
    return { admitted: true, holds: new Map([['sink', { release }]]) };
  };
  const entry = new Entry(
    {
      source: 'orders',
      respond: 'on_done',
      acceptWhileFull: false,
      doneTimeoutMs: 5000,
      maxInFlight: 10,
      ...options,
    },
    {
      admit,
      deliver: () => Promise.resolve(DONE),
      metrics: {
        recordsAccepted: () => undefined,
        recordsRefused: (_source, sink) => refusedBy.push(sink),
      },
      memory: {
        recall: (key) => remembered.get(key),
        remember: (key, verdict) => void remembered.set(key, verdict),
      },
      receiver: undefined,
      room: new Quota(1000),
      now: () => 0,
      report: (fault) => reports.push(fault),
      ...deps,
    },
  );
  return { entry, held: () => held, doubleReleases, reports, refusedBy, remembered };
}

describe('the entry of an HTTP source', () => {
  it('a duplicate that comes while the first is being looked up waits for its verdict, and the flow runs once', async () => {
    const lookup = deferred<KnownVerdict | undefined>();
    const verdict = deferred<Verdict>();
    let deliveries = 0;
    const { entry } = rig(
      {},
      {
        memory: { recall: () => lookup.promise, remember: () => undefined },
        deliver: () => {
          deliveries += 1;
          return verdict.promise;
        },
      },
    );
    const both = [entry.take(record('a')), entry.take(record('a'))];
    lookup.resolve(undefined);
    await waitFor('the delivery', () => deliveries === 1);
    const third = entry.take(record('a'));
    verdict.resolve(DONE);
    expect(await Promise.all([...both, third])).toEqual([1, 2, 3].map(() => ({ kind: 'done', id: 'a' })));
    expect(deliveries).toBe(1);
    expect(entry.counters()).toMatchObject({ accepted: 1, duplicates: 2, in_flight: 0 });
  });

  it('bounds the bytes on their way, and takes one that is larger than the bound alone', async () => {
    const room = new Quota(250);
    const verdict = deferred<Verdict>();
    const { entry, held, refusedBy } = rig({}, { room, deliver: () => verdict.promise });
    const large = { ...record('large'), bytes: 1000 };
    const both = [entry.take(record('a')), entry.take(record('b'))];
    expect(await entry.take(record('c'))).toMatchObject({ kind: 'refused', refusal: { sink: 'flow' } });
    expect(await entry.take(large)).toMatchObject({ kind: 'refused' });
    verdict.resolve(DONE);
    await Promise.all(both);
    expect(await entry.take(large)).toEqual({ kind: 'done', id: 'large' });
    expect(refusedBy).toEqual(['flow', 'flow']);
    expect([room.used, held()]).toEqual([0, 0]);
  });

  it('another body under the same key is rejected while the first is in progress, without touching it', async () => {
    const verdict = deferred<Verdict>();
    const { entry } = rig({}, { deliver: () => verdict.promise });
    const first = entry.take(record('a', 'd1'));
    expect(await entry.take(record('a', 'd2'))).toMatchObject({
      kind: 'rejected',
      error: { code: 'ERR_SLUICE_KEY_REUSED' },
    });
    verdict.resolve(DONE);
    expect(await first).toEqual({ kind: 'done', id: 'a' });
  });

  it('a lookup that fails is a refusal: a repeat could not be told from a new record', async () => {
    const { entry, refusedBy } = rig(
      {},
      { memory: { recall: () => Promise.reject(new Error('file')), remember: () => undefined } },
    );
    expect(await entry.take(record('a'))).toEqual({ kind: 'refused', refusal: refuse('inbox', 5) });
    expect(refusedBy).toEqual(['inbox']);
    expect(entry.counters()).toMatchObject({ accepted: 0, backpressured: 1 });
  });

  it('no more than maxInFlight records wait with their bodies for a lookup', async () => {
    const lookup = deferred<KnownVerdict | undefined>();
    const { entry } = rig(
      { maxInFlight: 3 },
      { memory: { recall: () => lookup.promise, remember: () => undefined } },
    );
    const waiting = ['a', 'b', 'c'].map((key) => entry.take(record(key)));
    expect(await entry.take(record('d'))).toMatchObject({ kind: 'refused' });
    lookup.resolve(undefined);
    expect((await Promise.all(waiting)).map(({ kind }) => kind)).toEqual(['done', 'done', 'done']);
    expect(await entry.take(record('d'))).toMatchObject({ kind: 'done' });
  });

  it('a delivery that rejects or throws is a refusal, is reported, and gives its room back', async () => {
    for (const deliver of [
      () => Promise.reject(new Error('broken')),
      () => {
        throw new Error('broken');
      },
    ]) {
      const { entry, held, reports } = rig({ maxInFlight: 1 }, { deliver });
      for (let time = 0; time < 3; time += 1) {
        expect(await entry.take(record('a'))).toMatchObject({ kind: 'refused', refusal: { sink: 'flow' } });
      }
      expect(held()).toBe(0);
      expect(entry.inFlight).toBe(0);
      expect(reports).toHaveLength(3);
    }
  });

  it('an admission that throws is a refusal, and the key can be tried again', async () => {
    let broken = true;
    const good = rig();
    const { entry, reports } = rig(
      {},
      {
        admit: () => {
          if (broken) throw new Error('walk');
          return { admitted: true, holds: new Map() };
        },
      },
    );
    expect(await entry.take(record('a'))).toMatchObject({ kind: 'refused' });
    expect(reports).toHaveLength(1);
    broken = false;
    expect(await entry.take(record('a'))).toMatchObject({ kind: 'done' });
    expect(good.held()).toBe(0);
  });

  it('a verdict after the sender has left is remembered, and its repeat in between joins', async () => {
    const verdict = deferred<Verdict>();
    const { entry, remembered } = rig({ doneTimeoutMs: 1 }, { deliver: () => verdict.promise });
    expect(await entry.take(record('a'))).toMatchObject({ kind: 'refused', refusal: { sink: 'flow' } });
    expect(await entry.take(record('a'))).toMatchObject({ kind: 'refused' });
    expect(entry.inFlight).toBe(1);
    verdict.resolve(DONE);
    await waitFor('the verdict', () => entry.inFlight === 0);
    expect(remembered.get('a')).toEqual({ digest: 'd1', verdict: 'done' });
    expect(await entry.take(record('a'))).toEqual({ kind: 'done', id: 'a' });
  });

  describe('on receipt', () => {
    const receipt = { respond: 'on_receipt' } as const;

    it('N8 is not accepted when the inbox fails, gives its room back, and can be tried again', async () => {
      let fails = true;
      const { entry, held } = rig(receipt, {
        receiver: {
          canAccept: () => undefined,
          accept: (_record, holds) => {
            if (fails) return Promise.reject(new Error('disk'));
            for (const hold of holds?.values() ?? []) hold.release();
            return Promise.resolve();
          },
        },
      });
      expect(await entry.take(record('a'))).toEqual({ kind: 'refused', refusal: refuse('inbox', 5) });
      expect(held()).toBe(0);
      expect(entry.counters()).toMatchObject({ accepted: 0, backpressured: 1 });
      fails = false;
      expect(await entry.take(record('a'))).toEqual({ kind: 'accepted', id: 'a' });
      expect(held()).toBe(0);
    });

    it('hands the room at the sinks on to the inbox, which releases it', async () => {
      const accepted = deferred<undefined>();
      const { entry, held } = rig(receipt, {
        receiver: { canAccept: () => undefined, accept: () => accepted.promise },
      });
      const answer = entry.take(record('a'));
      await waitFor('the record', () => held() === 1);
      accepted.resolve(undefined);
      expect(await answer).toEqual({ kind: 'accepted', id: 'a' });
      expect(held()).toBe(1);
    });

    it('acceptWhileFull waits for a full sink in the inbox, not for a flow that is not running', async () => {
      let sink = 'push';
      const handed: unknown[] = [];
      const { entry } = rig(
        { ...receipt, acceptWhileFull: true },
        {
          admit: () => refuse(sink, 7),
          receiver: {
            canAccept: () => undefined,
            accept: (_record, holds) => {
              handed.push(holds);
              return Promise.resolve();
            },
          },
        },
      );
      expect(await entry.take(record('a'))).toMatchObject({ kind: 'accepted' });
      sink = 'flow';
      expect(await entry.take(record('b'))).toEqual({ kind: 'refused', refusal: refuse('flow', 7) });
      expect(handed).toEqual([undefined]);
    });
  });
});
