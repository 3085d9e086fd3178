import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Verdict } from '#lib/delivery/verdict';
import type { FlowNode } from '../harness/node-red';
import { waitFor } from '../harness/wait';
import { change, delay, func, joinCount, split } from './lineage-flows';
import { startLineageRig, tab, type Arrival, type LineageRig, type TabNode } from './lineage-rig';

let rig: LineageRig;

beforeAll(async () => {
  rig = await startLineageRig();
});
afterAll(() => rig.stop());
afterEach(() => {
  rig.arrived.length = rig.finished.length = rig.late.length = 0;
  expect(rig.faults).toEqual([]);
});

const deploy = (nodes: readonly TabNode[], more: readonly FlowNode[] = []) =>
  rig.nodeRed.deploy([...tab('z', nodes), ...more]);
const arrival = async (index = 0): Promise<Arrival> => {
  await waitFor('an arrival', () => rig.arrived.length > index);
  return rig.arrived[index] as Arrival;
};
const holding: TabNode = ['sink', 't-sink', '', { hold: true }];
const bytes = (text: unknown) => new TextEncoder().encode(String(text));

describe('the trace of a message', () => {
  it('O1 carries the stamp of its source, whatever the flow made of msg.sluice', async () => {
    const forge = func('return {payload: msg.payload, sluice: {id: "forged", source: "x"}}');
    await deploy([['src', 't-source', 'f'], ['f', 'function', 'sink', forge], holding]);
    const verdict = rig.fire(
      'z.src',
      { payload: 1 },
      {
        stamp: { id: 'the-id', source: 'hook', receivedAt: 5, attempt: 2, key: 'k' },
      },
    );
    const { msg, trace, finish } = await arrival();
    expect(trace?.stamp).toEqual({ id: 'the-id', source: 'hook', receivedAt: 5, attempt: 2, key: 'k' });
    expect(msg['sluice']).toEqual(trace?.stamp);
    finish();
    expect(await verdict).toEqual({ kind: 'done' });
  });

  it('gives each attempt a _msgid of its own and leaves the message of the caller alone', async () => {
    await deploy([['src', 't-source', 'sink'], holding]);
    const msg = Object.freeze({ payload: 1, _msgid: 'mine' });
    const verdicts = [rig.fire('z.src', msg), rig.fire('z.src', msg)];
    const ids = new Set([(await arrival(0)).msg._msgid, (await arrival(1)).msg._msgid, 'mine']);
    expect(ids.size).toBe(3);
    for (const { finish } of rig.arrived) finish();
    expect(await Promise.all(verdicts)).toEqual([{ kind: 'done' }, { kind: 'done' }]);
  });

  it('is missing for a message that no source of ours admitted', async () => {
    await deploy([['src', 't-source', 'sink'], holding]);
    const verdict = rig.fire('z.src');
    (await arrival()).finish();
    await verdict;
    rig.nodeRed.node('z.src').send({ payload: 'untracked' });
    const { trace, finish } = await arrival(1);
    expect(trace).toBeUndefined();
    finish();
  });

  it('names the queue row that the delivery comes from, and how a repeat of it is recognised', async () => {
    await deploy([['src', 't-source', 'sink'], holding]);
    const options = { lease: { queueId: 'q', seq: 7 }, repeat: { scope: 'q 7', since: 0 } };
    const verdict = rig.fire('z.src', { payload: 1 }, options);
    const { trace, finish } = await arrival();
    expect(trace).toMatchObject(options);
    finish();
    await verdict;
  });

  it('releases a hold when its sink takes it, and the others with the verdict, each once', async () => {
    await deploy([['src', 't-source', 'sink'], holding]);
    const taken = { release: vi.fn() };
    const left = { release: vi.fn() };
    const holds = new Map([
      ['z.sink', taken],
      ['elsewhere', left],
    ]);
    const verdict = rig.fire('z.src', { payload: 1 }, { holds });
    const { trace, finish } = await arrival();
    trace?.takeHold('z.sink');
    trace?.takeHold('z.sink');
    expect([taken.release.mock.calls.length, left.release.mock.calls.length]).toEqual([1, 0]);
    finish();
    await verdict;
    trace?.takeHold('elsewhere');
    expect([taken.release.mock.calls.length, left.release.mock.calls.length]).toEqual([1, 1]);
  });

  it('O1 gives the same delivery ids on every attempt, also to identical parts of a split and a fan-out', async () => {
    await deploy([
      ['src', 't-source', 's sink'],
      ['s', 'split', 'd e', split],
      ['d', 'delay', 'sink', delay(5)],
      ['e', 'change', 'other', change],
      ['sink', 't-sink', ''],
      ['other', 't-sink', ''],
    ]);
    const attempt = async (number: number, origin: string) => {
      rig.arrived.length = 0;
      const stamp = { id: origin, source: 's', receivedAt: 1, attempt: number };
      const verdict = rig.fire('z.src', { payload: ['a', 'b', 'a'] }, { stamp, origin });
      await waitFor('all parts', () => rig.arrived.length === 7);
      const ids = rig.arrived.map(
        ({ node, msg, trace }) => trace?.deliveryId(node, bytes(msg.payload)) ?? '',
      );
      expect(await verdict).toEqual({ kind: 'done' });
      return ids.sort();
    };
    const first = await attempt(1, 'record');
    expect(new Set(first).size).toBe(7);
    for (const id of first) expect(id).toMatch(/^[\x21-\x7e]{1,64}$/);
    expect(await attempt(2, 'record')).toEqual(first);
    expect((await attempt(1, 'another')).filter((id) => first.includes(id))).toEqual([]);
  });

  it('O1 stops the delivery timeout while any sink holds the record', async () => {
    await deploy([
      ['src', 't-source', 'one two'],
      ['one', 't-sink', '', { hold: true }],
      ['two', 't-sink', '', { hold: true }],
    ]);
    let verdict: Verdict | undefined;
    const settled = rig.fire('z.src', { payload: 1 }, { timeoutMs: 150 }).then((given) => (verdict = given));
    await arrival(1);
    const [first, second] = rig.arrived.map(({ trace }) => trace?.pauseTimeout());
    first?.();
    first?.();
    const start = Date.now();
    await waitFor('longer than the timeout', () => Date.now() - start > 400);
    expect(verdict).toBeUndefined();
    second?.();
    expect(await settled).toEqual({
      kind: 'unknown',
      reason: 'ERR_SLUICE_DELIVERY_TIMEOUT',
      open: expect.arrayContaining(['z.one', 'z.two']) as string[],
    });
    for (const { finish } of rig.arrived) finish();
  });

  it('of merged records serves all of them and has no row to replace', async () => {
    await deploy([['src', 't-source', 'j'], ['j', 'join', 'sink', joinCount(2)], holding]);
    const releases = [vi.fn(), vi.fn()];
    const verdicts = releases.map((release, seq) =>
      rig.fire(
        'z.src',
        { payload: seq },
        {
          lease: { queueId: 'q', seq },
          repeat: { scope: `q ${seq}`, since: 0 },
          holds: new Map([['z.sink', { release }]]),
        },
      ),
    );
    const { trace, finish } = await arrival();
    expect(trace?.lease).toBeUndefined();
    expect(trace?.repeat).toBeUndefined();
    trace?.takeHold('z.sink');
    expect(releases.map(({ mock }) => mock.calls.length)).toEqual([1, 1]);
    finish();
    expect(await Promise.all(verdicts)).toEqual([{ kind: 'done' }, { kind: 'done' }]);
  });
});
