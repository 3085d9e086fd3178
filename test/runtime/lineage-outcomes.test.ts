import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { DeliveryError } from '#lib/errors/errors';
import { waitFor } from '../harness/wait';
import { change, delay, exec, func, joinCount, rateLimit, split, switchOn } from './lineage-flows';
import { startLineageRig, tab, type LineageRig, type TabNode } from './lineage-rig';

let rig: LineageRig;

beforeAll(async () => {
  rig = await startLineageRig();
});
afterAll(() => rig.stop());
afterEach(() => {
  rig.arrived.length = rig.finished.length = rig.late.length = 0;
  expect(rig.faults).toEqual([]);
});

const deploy = (nodes: readonly TabNode[]) => rig.nodeRed.deploy(tab('z', nodes));
const UNROUTED = { kind: 'aborted', reason: 'ERR_SLUICE_DELIVERY_UNROUTED' };
const DONE = { kind: 'done' };
const off = { d: true };

describe('O1 zero deliveries are never done', () => {
  const cases: [string, TabNode[]][] = [
    ['an output wired to nothing', [['src', 't-source', '']]],
    [
      'a disabled sink',
      [
        ['src', 't-source', 'sink'],
        ['sink', 't-sink', '', off],
      ],
    ],
    ['an id that does not exist', [['src', 't-source', 'gone']]],
    [
      'a change before a disabled sink',
      [
        ['src', 't-source', 'c'],
        ['c', 'change', 'sink', change],
        ['sink', 't-sink', '', off],
      ],
    ],
    [
      'a switch and a delay before disabled sinks',
      [
        ['src', 't-source', 'w'],
        ['w', 'switch', 'd', switchOn({ t: 'else' })],
        ['d', 'delay', 's1 s2', delay(20)],
        ['s1', 't-sink', '', off],
        ['s2', 't-sink', '', off],
      ],
    ],
    [
      'an async function with a new object before a disabled sink',
      [
        ['src', 't-source', 'f'],
        [
          'f',
          'function',
          'sink',
          func('await new Promise((resolve) => setTimeout(resolve, 10)); return {payload: 1}'),
        ],
        ['sink', 't-sink', '', off],
      ],
    ],
    [
      'a link to a disabled link in',
      [
        ['src', 't-source', 'out'],
        ['out', 'link out', '', { mode: 'link', links: ['z.in'] }],
        ['in', 'link in', 'sink', { links: ['z.out'], ...off }],
        ['sink', 't-sink', ''],
      ],
    ],
  ];
  it.each(cases)('%s is aborted', async (_, nodes) => {
    await deploy(nodes);
    expect(await rig.fire('z.src')).toEqual(UNROUTED);
  });

  it('a fan-out to a sink and to a disabled one is done', async () => {
    await deploy([
      ['src', 't-source', 'off c'],
      ['c', 'change', 'off sink', change],
      ['off', 't-sink', '', off],
      ['sink', 't-sink', ''],
    ]);
    expect(await rig.fire('z.src')).toEqual(DONE);
  });

  it('a sink, or an outside request, whose receipt goes to a disabled node is done', async () => {
    const disabled: TabNode = ['off', 'debug', '', off];
    await deploy([['src', 't-source', 'sink'], ['sink', 't-sink', 'off', { receipt: true }], disabled]);
    expect(await rig.fire('z.src')).toEqual(DONE);
    await deploy([['src', 't-source', 'e'], ['e', 'exec', [['off'], [], []], exec('true')], disabled]);
    expect(await rig.fire('z.src')).toEqual(DONE);
  });

  it('sends on the output that it is told to', async () => {
    await deploy([
      ['src', 't-source', [['a'], ['b']]],
      ['a', 't-sink', ''],
      ['b', 't-sink', ''],
    ]);
    expect(await rig.fire('z.src', { payload: 1 }, { port: 1 })).toEqual(DONE);
    expect(rig.finished.map(({ node }) => node)).toEqual(['z.b']);
    expect(await rig.fire('z.src', { payload: 1 }, { port: 2 })).toEqual(UNROUTED);
  });
});

describe('O1 a failed verdict', () => {
  const fanOut = (...fails: string[]): TabNode[] => [
    ['src', 't-source', fails.map((_, index) => `s${index}`).join(' ')],
    ...fails.map((fail, index): TabNode => [`s${index}`, 't-sink', '', { fail, ms: 10 * index }]),
  ];

  it('carries the very error, its class and the wait that was asked for', async () => {
    await deploy(fanOut('config'));
    const verdict = await rig.fire('z.src');
    expect(verdict).toMatchObject({ kind: 'failed', failure: 'config', retryAfterMs: 900 });
    expect(verdict.kind === 'failed' && verdict.error).toBeInstanceOf(DeliveryError);
  });

  it('makes an Error of text', async () => {
    await deploy(fanOut('text'));
    const verdict = await rig.fire('z.src');
    expect(verdict).toMatchObject({ kind: 'failed', failure: 'transient' });
    expect(verdict.kind === 'failed' && verdict.error).toEqual(new Error('sink down'));
  });

  it('is transient before config before permanent, with the longest wait', async () => {
    await deploy(fanOut('permanent', 'config', 'transient'));
    const all = await rig.fire('z.src');
    expect(all).toMatchObject({ kind: 'failed', failure: 'transient', retryAfterMs: 900 });
    await deploy(fanOut('permanent', 'config'));
    expect(await rig.fire('z.src')).toMatchObject({ kind: 'failed', failure: 'config' });
    await deploy(fanOut('permanent', 'permanent'));
    expect(await rig.fire('z.src')).toMatchObject({ kind: 'failed', failure: 'permanent' });
  });

  it('waits for the other branches', async () => {
    await deploy([
      ['src', 't-source', 'bad good'],
      ['bad', 't-sink', '', { fail: 'plain', ms: 1 }],
      ['good', 't-sink', '', { ms: 100 }],
    ]);
    expect(await rig.fire('z.src')).toMatchObject({ kind: 'failed' });
    expect(rig.finished).toHaveLength(2);
  });

  it('waits for the other parts at the same sink', async () => {
    await deploy([
      ['src', 't-source', 'f'],
      ['f', 'function', 'd', func('return [[{payload: 1}, {payload: 2}, {payload: 3}]]')],
      ['d', 'delay', 'sink', rateLimit(20)],
      ['sink', 't-sink', '', { fail: 'plain', ms: 30 }],
    ]);
    expect(await rig.fire('z.src')).toMatchObject({ kind: 'failed' });
    expect(rig.finished).toHaveLength(3);
  });

  it('is given at the timeout, too, when a branch has failed and another hangs', async () => {
    await deploy([
      ['src', 't-source', 'bad hung'],
      ['bad', 't-sink', '', { fail: 'permanent' }],
      ['hung', 't-never', ''],
    ]);
    const verdict = await rig.fire('z.src', { payload: 1 }, { timeoutMs: 200 });
    expect(verdict).toMatchObject({ kind: 'failed', failure: 'permanent' });
  });
});

describe('O1 nodes that break the rules', () => {
  it('a node that cannot be tracked is unknown and named', async () => {
    await deploy([
      ['src', 't-source', 'l'],
      ['l', 't-legacy-sync', 'sink'],
      ['sink', 't-sink', ''],
    ]);
    expect(await rig.fire('z.src')).toEqual({
      kind: 'unknown',
      reason: 'ERR_SLUICE_DELIVERY_UNTRACKABLE',
      open: ['z.l'],
    });
  });

  it('a source may take such nodes as done, and late signs of life are counted', async () => {
    await deploy([
      ['src', 't-source', 'l e'],
      ['l', 't-legacy-async', 'sink'],
      ['e', 't-legacy-error', ''],
      ['sink', 't-sink', ''],
    ]);
    const before = rig.lineage.lateSends;
    const stamp = { id: 'late-one', source: 's', receivedAt: 1, attempt: 1 };
    expect(await rig.fire('z.src', { payload: 1 }, { treatLegacyAsDone: true, stamp })).toEqual(DONE);
    await waitFor('both signs of life', () => rig.late.length === 2);
    expect(rig.late).toEqual(
      expect.arrayContaining([
        { what: 'send', nodeId: 'z.l', sourceId: 'z.src', recordId: 'late-one' },
        { what: 'error', nodeId: 'z.e', sourceId: 'z.src', recordId: 'late-one' },
      ]),
    );
    expect(rig.lineage.lateSends).toBe(before + 2);
    await waitFor('the late delivery', () => rig.finished.length === 1);
  });

  it('a switch that keeps sequences back is unknown for the messages of one', async () => {
    const collecting = { ...switchOn({ t: 'else' }), repair: true };
    await deploy([
      ['src', 't-source', 's'],
      ['s', 'split', 'w', split],
      ['w', 'switch', 'sink', collecting],
      ['sink', 't-sink', '', { ms: 5 }],
    ]);
    expect(await rig.fire('z.src', { payload: [1, 2] })).toMatchObject({ kind: 'unknown', open: ['z.w'] });
    await waitFor('the sequence', () => rig.finished.length === 2);
  });

  it('done called twice counts once', async () => {
    await deploy([
      ['src', 't-source', 'f'],
      ['f', 'function', 't', func('return [[{payload: 1}, {payload: 2}]]')],
      ['t', 't-done-twice', 'sink'],
      ['sink', 't-sink', '', { ms: 80 }],
    ]);
    expect(await rig.fire('z.src')).toEqual(DONE);
    expect(rig.finished).toHaveLength(2);
  });

  it('done called before send waits for what is sent', async () => {
    await deploy([
      ['src', 't-source', 't'],
      ['t', 't-done-first', 'sink'],
      ['sink', 't-sink', '', { fail: 'plain', ms: 50 }],
    ]);
    expect(await rig.fire('z.src')).toMatchObject({ kind: 'failed' });
  });

  it('done after the timeout changes nothing', async () => {
    await deploy([
      ['src', 't-source', 'sink'],
      ['sink', 't-sink', '', { hold: true }],
    ]);
    const verdict = await rig.fire('z.src', { payload: 1 }, { timeoutMs: 60 });
    expect(verdict).toMatchObject({ kind: 'unknown', open: ['z.sink'] });
    rig.arrived[0]?.finish();
    expect(rig.late).toEqual([]);
    expect(rig.lineage.active).toBe(0);
  });

  it('a frozen message is followed', async () => {
    await deploy([
      ['src', 't-source', 'f'],
      ['f', 't-freeze', 'sink c'],
      ['c', 'change', 'sink', change],
      ['sink', 't-sink', '', { ms: 40 }],
    ]);
    expect(await rig.fire('z.src')).toEqual(DONE);
    expect(rig.finished).toHaveLength(2);
  });

  it('a message that another node sends is followed', async () => {
    await deploy([
      ['src', 't-source', 't'],
      ['t', 't-other-sends', '', { other: 'z.spare' }],
      ['spare', 't-source', 'sink'],
      ['sink', 't-sink', '', { fail: 'plain' }],
    ]);
    expect(await rig.fire('z.src')).toMatchObject({ kind: 'failed' });
  });

  it('a message kept from an earlier record belongs to the one that sends it on', async () => {
    const keep = 'const old = context.get("old"); context.set("old", msg); return old || null';
    await deploy([
      ['src', 't-source', 'f'],
      ['f', 'function', 'sink', func(keep)],
      ['sink', 't-sink', '', { fail: 'plain' }],
    ]);
    expect(await rig.fire('z.src')).toEqual(DONE);
    expect(await rig.fire('z.src')).toMatchObject({ kind: 'failed' });
  });

  it('a hook of another package that stops messages ends in unknown', async () => {
    await deploy([
      ['src', 't-source', 'sink'],
      ['sink', 't-sink', ''],
    ]);
    const { hooks } = rig.nodeRed.RED;
    for (const id of ['onReceive.foreign', 'preDeliver.foreign'] as const) {
      const stop = (): false => false;
      hooks.add(id as 'onReceive.foreign', stop as unknown as (event: object) => void);
      const verdict = await rig.fire('z.src', { payload: 1 }, { timeoutMs: 60 });
      expect(verdict).toMatchObject({ kind: 'unknown', open: ['z.sink'] });
      hooks.remove(id);
    }
    expect(await rig.fire('z.src')).toEqual(DONE);
  });

  it('a join of two sources fails both', async () => {
    await deploy([
      ['src', 't-source', 'j'],
      ['other', 't-source', 'c'],
      ['c', 'change', 'j', change],
      ['j', 'join', 'c2', joinCount(2)],
      ['c2', 'function', 'sink', func('return {payload: msg.payload}')],
      ['sink', 't-sink', '', { fail: 'plain', ms: 60 }],
    ]);
    const verdicts = await Promise.all([rig.fire('z.src'), rig.fire('z.other')]);
    expect(verdicts.map(({ kind }) => kind)).toEqual(['failed', 'failed']);
    expect(rig.finished).toHaveLength(1);
  });

  it('a queue in between ends one record and begins another', async () => {
    await deploy([
      ['src', 't-source', 'q'],
      ['q', 't-queue', 'sink'],
      ['sink', 't-sink', '', { fail: 'plain', ms: 60 }],
    ]);
    expect(await Promise.all([rig.fire('z.src'), rig.fire('z.src')])).toEqual([DONE, DONE]);
    expect(rig.lineage.active).toBe(1);
    await waitFor('the delivery', () => rig.lineage.active === 0);
    expect(rig.finished).toHaveLength(1);
  });

  it('a status that a node shows meanwhile is not part of the record', async () => {
    await deploy([
      ['src', 't-source', 'sink'],
      ['sink', 't-sink', '', { status: 'busy' }],
      ['st', 'status', 'bad', { scope: null }],
      ['bad', 't-sink', '', { fail: 'plain', ms: 1 }],
    ]);
    expect(await rig.fire('z.src')).toEqual(DONE);
    const untracked = rig.arrived.filter(({ node, trace }) => node === 'z.bad' && !trace);
    expect(untracked).toHaveLength(1);
  });
});
