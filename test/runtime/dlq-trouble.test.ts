import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { NodeStatus } from '#lib/node-red/types';
import { deadLettersOf, dlq, lettersOf, step } from '../harness/dead-letters';
import { probe, probeNodes, tab, type ProbeSink } from '../harness/probe';
import { startNodeRed, type RunningNodeRed } from '../harness/node-red';
import { waitFor } from '../harness/wait';

let nodeRed: RunningNodeRed;
/** What each node shows, by its id. */
const shown = new Map<string, NodeStatus>();
const received = (id: string) => nodeRed.node<ProbeSink>(id).received;
const ruleOf = (id: string) => deadLettersOf(nodeRed).room.rules.of(id);

beforeAll(async () => {
  nodeRed = await startNodeRed({ nodesDir: [probeNodes] });
  nodeRed.RED.events.on('node-status', ({ id, status }: { id: string; status: NodeStatus }) =>
    shown.set(id, status),
  );
});
afterAll(() => nodeRed.stop());
afterEach(() => nodeRed.deploy([]));

describe('a dlq in trouble', () => {
  it('of two dlq nodes on one tab the second says so and does nothing', async () => {
    await nodeRed.deploy([
      tab('twice'),
      step('step', ['sink'], { z: 'twice' }),
      probe('sink', 'twice'),
      dlq('first', { z: 'twice' }),
      dlq('second', { z: 'twice', onError: 'halt' }),
    ]);
    expect(shown.get('second')).toMatchObject({ fill: 'red' });
    nodeRed.node('step').receive({ payload: { fail: 'SqlEval' } });
    await waitFor('the letter', async () => (await lettersOf(nodeRed, { rule: 'twice' })).length === 1);
    expect(deadLettersOf(nodeRed).room.haltOf('twice')).toBeUndefined();
  });

  it('R18 a dlq wired into its own input keeps each record once, counts that, and goes on', async () => {
    await nodeRed.deploy([
      tab('own'),
      step('step', ['sink'], { z: 'own' }),
      probe('sink', 'own'),
      { id: 'catch', type: 'catch', z: 'own', scope: null, uncaught: false, wires: [['dlq']] },
      dlq('dlq', { z: 'own' }, ['dlq']),
    ]);
    for (let n = 0; n < 3; n += 1) nodeRed.node('step').receive({ payload: { fail: 'SqlEval', n } });
    await waitFor('the failures behind it', () => ruleOf('own').sinkFailures === 3);
    nodeRed.node('step').receive({ payload: { n: 4 } });
    await waitFor('the next record', () => received('sink').length === 1);
    expect(await lettersOf(nodeRed, { rule: 'own' })).toHaveLength(3);
    expect(ruleOf('own')).toMatchObject({ total: 3, sinkFailures: 3 });
  });

  it('R15 R18 an output whose node fails is counted, and goes no further', async () => {
    await nodeRed.deploy([
      tab('acting'),
      step('step', ['sink'], { z: 'acting' }),
      step('action', ['sink'], { z: 'acting', fail: 'permanent' }),
      probe('sink', 'action'),
      { id: 'catch', type: 'catch', z: 'acting', scope: null, uncaught: false, wires: [['dlq']] },
      dlq('dlq', { z: 'acting' }, ['action']),
    ]);
    nodeRed.node('step').receive({ payload: { fail: 'SchemaValidation' } });
    await waitFor('the failure of the action', () => ruleOf('acting').sinkFailures === 1);
    expect(await lettersOf(nodeRed, { rule: 'acting' })).toHaveLength(1);
    const answer = await fetch(`${nodeRed.url}/sluice/rules/acting/errors`);
    expect(await answer.json()).toMatchObject({ total_errors: 1, sink_failures: 1 });
  });

  it('a failure of an untracked message is kept, also a transient one that a catch node brings', async () => {
    await nodeRed.deploy([
      tab('untracked'),
      step('step', ['sink'], { z: 'untracked' }),
      probe('sink', 'untracked'),
      { id: 'catch', type: 'catch', z: 'untracked', scope: null, uncaught: false, wires: [['dlq']] },
      dlq('dlq', { z: 'untracked' }),
    ]);
    nodeRed.node('step').receive({ payload: { fail: 'transient', n: 1 } });
    await waitFor('the letter', async () => (await lettersOf(nodeRed, { rule: 'untracked' })).length === 1);
    expect(await lettersOf(nodeRed, { rule: 'untracked' })).toMatchObject([
      {
        target: { node: 'step' },
        envelope: { error: expect.stringContaining('not now') as string, tuple: { n: 1 } },
      },
    ]);
  });
});
