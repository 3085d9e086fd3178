import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../harness/wait';
import { change, func, split, switchOn } from './lineage-flows';
import { startLineageRig, tab, type LineageRig } from './lineage-rig';

const LINGER_MS = 200;
let rig: LineageRig;

beforeAll(async () => {
  rig = await startLineageRig({}, LINGER_MS);
});
afterAll(() => rig.stop());
afterEach(() => {
  rig.arrived.length = rig.finished.length = rig.late.length = 0;
  expect(rig.faults).toEqual([]);
});

async function kindsOfBurst(records: number, source = 'z.src'): Promise<Record<string, number>> {
  const kinds: Record<string, number> = {};
  const verdicts = await Promise.all(
    Array.from({ length: records }, (_, payload) => rig.fire(source, { payload })),
  );
  for (const { kind } of verdicts) kinds[kind] = (kinds[kind] ?? 0) + 1;
  return kinds;
}

describe('O1 a burst of records', () => {
  it.each([
    ['a message property', switchOn({ t: 'else' })],
    ['a JSONata property', switchOn({ t: 'else' }, '$sum([payload,1])', 'jsonata')],
  ])('through a switch on %s to a failing sink is all failed', async (_, properties) => {
    await rig.nodeRed.deploy(
      tab('z', [
        ['src', 't-source', 'w'],
        ['w', 'switch', 'sink', properties],
        ['sink', 't-sink', '', { fail: 'plain', ms: 30 }],
      ]),
    );
    expect(await kindsOfBurst(300)).toEqual({ failed: 300 });
    expect(rig.late).toEqual([]);
  });

  it('through two switches in a row to a failing sink is all failed', async () => {
    await rig.nodeRed.deploy(
      tab('z', [
        ['src', 't-source', 'v'],
        ['v', 'switch', 'w', switchOn({ t: 'else' })],
        ['w', 'switch', 'sink', switchOn({ t: 'else' })],
        ['sink', 't-sink', '', { fail: 'plain', ms: 30 }],
      ]),
    );
    expect(await kindsOfBurst(300)).toEqual({ failed: 300 });
  });

  it('of 2,000 leaves nothing behind, and the hooks go when records stop coming', async () => {
    await rig.nodeRed.deploy(
      tab('z', [
        ['src', 't-source', 'f s'],
        ['f', 'function', 'w', func('return {payload: msg.payload}')],
        ['w', 'switch', 'c', switchOn({ t: 'else' })],
        ['c', 'change', 'sink', change],
        ['s', 'split', 'sink', split],
        ['sink', 't-sink', '', { ms: 5 }],
      ]),
    );
    const kinds = kindsOfBurst(2000);
    expect(rig.lineage.active).toBe(2000);
    expect(rig.lineage.census().hooked).toBe(true);
    expect(await kinds).toEqual({ done: 2000 });
    expect(rig.lineage.active).toBe(0);
    await waitFor('the hooks to go', () => !rig.lineage.census().hooked);
    expect(rig.lineage.census()).toEqual({
      attempts: 0,
      known: 0,
      timeouts: 0,
      quietChecks: 0,
      pacedNodes: 0,
      parked: 0,
      aggregated: 0,
      hooked: false,
    });
    expect(rig.late).toEqual([]);
  });

  it('keeps records of one function with many under way apart', async () => {
    await rig.nodeRed.deploy(
      tab('z', [
        ['src', 't-source', 'f'],
        [
          'f',
          'function',
          [['good'], ['bad']],
          {
            ...func(
              'await new Promise((resolve) => setTimeout(resolve, 20)); return msg.payload % 2 ? [{payload: 1}, null] : [null, {payload: 0}]',
              2,
            ),
          },
        ],
        ['good', 't-sink', ''],
        ['bad', 't-sink', '', { fail: 'plain' }],
      ]),
    );
    expect(await kindsOfBurst(200)).toEqual({ done: 100, failed: 100 });
  });
});
