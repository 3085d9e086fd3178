import { describe, expect, it } from 'vitest';
import { newTally } from '#lib/delivery/ledger';
import type { Verdict } from '#lib/delivery/verdict';
import type { Inbox, ParkedRow } from '#lib/inbox/contract';
import { InboxRunner, NOT_HANDLED, type InboxRunnerDeps } from '#lib/inbox/inbox-runner';
import { moveParked } from '#lib/inbox/parked-rows';
import type { DrainOptions } from '#lib/queue/drain-options';
import { encodeRecord } from '#lib/queue/record-format';
import { Quota } from '#lib/quota/quota';
import { waitFor } from '../harness/wait';
import { DrainFixture, failed, flush } from './drain-fixture';

const rejected = failed('permanent', 'ERR_REJECTED');
const kept: Verdict = { ...(rejected as Extract<Verdict, { kind: 'failed' }>), kept: true };

describe('a queue that gives a record up', () => {
  const giveUp = async (verdict: Verdict, bury?: DrainOptions['bury']) => {
    const queue = new DrainFixture({ retryMaxMs: 5000 }, bury ? { bury } : {});
    queue.answer = () => verdict;
    await queue.append('a');
    queue.drain.resume();
    await flush();
    return queue;
  };

  it('O66 lets the dead letters keep it first, and then deletes it', async () => {
    const buried: string[] = [];
    const queue = await giveUp(rejected, (lease, { code }) => {
      buried.push(`${lease.seq} ${code}`);
      return Promise.resolve(true);
    });
    expect(buried).toEqual(['1 ERR_REJECTED']);
    expect(queue.store.counts()).toMatchObject({ records: 0, dead: 0 });
    expect(queue.settled).toMatchObject([{ settlement: { outcome: 'dead', kept: true } }]);
  });

  it('deletes what the node that failed has kept, and buries nothing twice', async () => {
    const queue = await giveUp(kept, () => Promise.reject(new Error('not asked')));
    expect(queue.store.counts()).toMatchObject({ records: 0, dead: 0 });
  });

  it('keeps it where the dead letters can’t, and tries again', async () => {
    let isBroken = true;
    const queue = await giveUp(rejected, () =>
      isBroken ? Promise.reject(new Error('disk full')) : Promise.resolve(true),
    );
    expect(queue.store.counts()).toMatchObject({ records: 1, dead: 0 });
    isBroken = false;
    await queue.clock.advance(6000);
    expect(queue.store.counts()).toMatchObject({ records: 0, dead: 0 });
    expect(queue.attempts).toHaveLength(2);
  });

  it('keeps in its own file what can’t be kept elsewhere for good', async () => {
    const queue = await giveUp(rejected, () => Promise.resolve(false));
    expect(queue.store.counts()).toMatchObject({ records: 0, dead: 1 });
  });
});

describe('an inbox that gives a record up', () => {
  const calls: string[] = [];
  const inbox = {
    canTake: () => true,
    accept: () => Promise.resolve(1),
    finish: (id: number) => Promise.resolve(void calls.push(`finish ${id}`)),
    park: (id: number, { reason }: { reason: string }) =>
      Promise.resolve(void calls.push(`park ${id} ${reason}`)),
    release() {},
    pending: () => Promise.resolve([]),
    countsOf: () => ({ pending: 0, parked: 0, bytes: 0, oldestAcceptedAt: undefined }),
  };

  async function run(verdict: Verdict, giveUp: NonNullable<InboxRunnerDeps['giveUp']>): Promise<string[]> {
    calls.length = 0;
    const runner = new InboxRunner(
      { source: 's', window: 1, retries: 0, dedupeMs: 0 },
      {
        inbox: inbox as unknown as Inbox,
        admit: () => ({ admitted: true, holds: new Map() }),
        room: new Quota(1000),
        tally: newTally(),
        deliver: () => Promise.resolve(verdict),
        random: () => 0,
        report() {},
        giveUp: (...given) => {
          calls.push(`give up ${given[1].reason}`);
          return giveUp(...given);
        },
      },
    );
    runner.resume();
    await runner.accept(
      { key: 'k', digest: 'd', bytes: 1, receivedAt: 1, message: { payload: 1 } },
      new Map(),
    );
    await waitFor('the end', () => calls.some((call) => !call.startsWith('give')));
    runner.pause();
    return calls;
  }

  it('O34 deletes its row once the dead letters have it', async () => {
    expect(await run(rejected, () => Promise.resolve())).toEqual([
      `give up ${NOT_HANDLED}: failed with ERR_REJECTED`,
      'finish 1',
    ]);
  });

  it('parks the row where they can’t, and deletes what a node has kept', async () => {
    expect((await run(rejected, () => Promise.reject(new Error('disk full')))).at(-1)).toBe(
      'park 1 failed with ERR_REJECTED',
    );
    expect(await run(kept, () => Promise.reject(new Error('not asked')))).toEqual(['finish 1']);
  });

  it('moves its source’s parked rows to the dead letters later, but not what can’t be read', async () => {
    const row = (id: number, source: string, record: Uint8Array): ParkedRow => ({
      id,
      source,
      key: `key-${id}`,
      acceptedAt: 5,
      attempts: 0,
      record,
      parkedAt: 6,
      code: 'ERR_X',
      reason: 'down',
    });
    const good = encodeRecord({ payload: 1 });
    const rows = [
      row(1, 'mine', good),
      row(2, 'other', good),
      row(3, 'mine', Buffer.from([9])),
      row(4, 'mine', good),
    ];
    const finished: number[] = [];
    const moved: string[] = [];
    await moveParked(
      {
        parked: (limit, afterId = 0) =>
          Promise.resolve(rows.filter(({ id }) => id > afterId).slice(0, limit)),
        finish: (id) => Promise.resolve(void finished.push(id)),
      },
      'mine',
      ({ key }, { reason }) => Promise.resolve(void moved.push(`${key} ${reason}`)),
    );
    expect(finished).toEqual([1, 4]);
    expect(moved).toEqual([`key-1 ${NOT_HANDLED}: down`, `key-4 ${NOT_HANDLED}: down`]);
  });
});
