import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { change, delay, func, switchOn } from './lineage-flows';
import { startLineageRig, tab, type LineageRig, type TabNode } from './lineage-rig';

let rig: LineageRig;

beforeAll(async () => {
  rig = await startLineageRig();
});
afterAll(() => rig.stop());
afterEach(() => {
  rig.arrived.length = rig.finished.length = 0;
  expect(rig.faults).toEqual([]);
});

const deploy = (nodes: readonly TabNode[]) => rig.nodeRed.deploy(tab('z', nodes));
const DONE = { kind: 'done' };

describe('O1 a caught error', () => {
  const caughtBy = (sink: object, ...between: TabNode[]): TabNode[] => [
    ['src', 't-source', 'bad'],
    ['bad', 't-sink', '', { fail: 'permanent', ms: 5 }],
    ['c', 'catch', between[0]?.[0] ?? 'sink', { scope: null, uncaught: false }],
    ...between,
    ['sink', 't-sink', '', { ms: 30, ...sink }],
  ];

  it('stays failed after a catch branch without custody', async () => {
    await deploy(caughtBy({}));
    expect(await rig.fire('z.src')).toMatchObject({ kind: 'failed', failure: 'permanent' });
    expect(rig.finished).toHaveLength(2);
    expect(rig.arrived.map(({ trace }) => trace?.caught)).toEqual([undefined, 'permanent']);
  });

  it.each<[string, TabNode[]]>([
    ['directly', []],
    [
      'through nodes that make new objects and copies',
      [
        ['f', 'function', 'w', func('await null; return {payload: msg.payload}')],
        ['w', 'switch', 'd', switchOn({ t: 'else' })],
        ['d', 'delay', 'other sink', delay(10)],
        ['other', 'change', '', change],
      ],
    ],
  ])('is done when the catch branch ends in custody %s', async (_, between) => {
    await deploy(caughtBy({ custody: 'any' }, ...between));
    expect(await rig.fire('z.src')).toEqual(DONE);
  });

  it('is done for a sink that takes permanent failures only if it is one', async () => {
    await deploy(caughtBy({ custody: 'permanent' }));
    expect(await rig.fire('z.src')).toEqual(DONE);
    await deploy(caughtBy({ custody: 'transient' }));
    expect(await rig.fire('z.src')).toMatchObject({ kind: 'failed' });
  });

  it.each([
    ['its own group', 'z.near', DONE],
    ['a group around that', 'z.around', DONE],
    ['another group', 'z.far', { kind: 'failed', failure: 'permanent' }],
  ])('is done by a catch node for %s only if that is where it happened', async (_, group, verdict) => {
    const groupOf = (id: string, g: object, ...nodes: string[]) => ({
      ...{ id: `z.${id}`, type: 'group', z: 'z', nodes: nodes.map((node) => `z.${node}`) },
      ...g,
    });
    await rig.nodeRed.deploy([
      ...tab('z', [
        ['src', 't-source', 'bad'],
        ['bad', 't-sink', '', { fail: 'permanent', ms: 5, g: 'z.near' }],
        ['c', 'catch', 'sink', { scope: 'group', uncaught: false, g: group }],
        ['sink', 't-sink', '', { ms: 30, custody: 'any' }],
      ]),
      groupOf('near', { g: 'z.around' }, 'bad', ...(group === 'z.near' ? ['c'] : [])),
      groupOf('around', {}, 'near', ...(group === 'z.around' ? ['c'] : [])),
      groupOf('far', {}, ...(group === 'z.far' ? ['c'] : [])),
    ]);
    expect(await rig.fire('z.src')).toMatchObject(verdict);
  });

  it('fails when only one of two errors ended in custody', async () => {
    await deploy([
      ['src', 't-source', 'bad worse'],
      ['bad', 't-sink', '', { fail: 'permanent', ms: 5 }],
      ['worse', 'function', '', func('throw new Error("x")')],
      ['c', 'catch', 'sink', { scope: ['z.bad'], uncaught: false }],
      ['sink', 't-sink', '', { custody: 'any' }],
    ]);
    expect(await rig.fire('z.src')).toMatchObject({ kind: 'failed', failure: 'transient' });
  });

  it('fails when the sink of the catch branch fails', async () => {
    await deploy(caughtBy({ fail: 'transient' }));
    expect(await rig.fire('z.src')).toMatchObject({ kind: 'failed', failure: 'transient' });
  });

  it('custody of a message that came another way forgives nothing', async () => {
    await deploy([
      ['src', 't-source', 'bad sink'],
      ['bad', 't-sink', '', { fail: 'permanent', ms: 5 }],
      ['sink', 't-sink', '', { custody: 'any' }],
    ]);
    expect(await rig.fire('z.src')).toMatchObject({ kind: 'failed', failure: 'permanent' });
  });
});
