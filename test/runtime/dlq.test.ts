import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { STAGES } from '#lib/errors/stages';
import { runtimeOf } from '#lib/node-red/runtime';
import { decodeRecord } from '#lib/queue/record-format';
import { deadLettersOf, dlq, letterOf, lettersOf, step } from '../harness/dead-letters';
import { functionNode, probe, probeNodes, tab, type ProbeSink } from '../harness/probe';
import { startNodeRed, type RunningNodeRed } from '../harness/node-red';
import { waitFor } from '../harness/wait';
import { callHook, webhook } from '../harness/webhook';

let nodeRed: RunningNodeRed;
beforeAll(async () => {
  nodeRed = await startNodeRed({ nodesDir: [probeNodes] });
});
afterAll(() => nodeRed.stop());
afterEach(() => nodeRed.deploy([]));

const received = (id: string) => nodeRed.node<ProbeSink>(id).received;
const newest = async () => (await lettersOf(nodeRed))[0];
const ruleOf = (id: string) => deadLettersOf(nodeRed).room.rules.of(id);

describe('dlq', () => {
  it('R1 R11 keeps a record that can never work, sends its envelope on, and goes on with the next', async () => {
    await nodeRed.deploy([
      tab('tab', 'orders'),
      webhook('hook', { wires: [['step']] }),
      step('step', ['sink']),
      probe('sink'),
      dlq('dlq', {}, ['audit']),
      probe('audit'),
    ]);
    const failed = await callHook(nodeRed, 'hook', { fail: 'SchemaValidation', n: 1 }, { id: 'msg-r1' });
    expect(failed.status).toBe(422);
    expect((await callHook(nodeRed, 'hook', { n: 2 })).status).toBe(200);
    await waitFor('the envelope', () => received('audit').length === 1);
    const [sent] = received('audit');
    expect(sent).toMatchObject({
      topic: 'orders',
      payload: {
        rule_id: 'tab',
        stage: 'SchemaValidation',
        stage_code: 1,
        error: 'failed at SchemaValidation',
        raw_payload: '{"fail":"SchemaValidation","n":1}',
        tuple: { fail: 'SchemaValidation', n: 1 },
        record_id: 'msg-r1',
        source: 'hook',
        node: { id: 'step', type: 'probe-step' },
        error_code: 'ERR_SLUICE_DELIVERY_FAILED',
        class: 'permanent',
        attempts: 1,
      },
    });
    const letter = await newest();
    expect(letter).toMatchObject({ state: 'open', place: 'pipeline', replays: 0 });
    const stored = await letterOf(nodeRed, letter!.id);
    expect(decodeRecord(stored!.record)).toMatchObject({ payload: { n: 1 }, topic: 'hook' });
    expect(received('sink').map(({ payload }) => payload)).toEqual([{ n: 2 }]);
  });

  it('R10 a tab without a dlq node only counts', async () => {
    await nodeRed.deploy([tab('plain'), step('step', ['sink'], { z: 'plain' }), probe('sink', 'plain')]);
    const before = (await lettersOf(nodeRed)).length;
    nodeRed.node('step').receive({ payload: { fail: 'SqlEval' } });
    await waitFor('the failure to be counted', () => ruleOf('plain').byStage.SqlEval === 1);
    expect(await lettersOf(nodeRed)).toHaveLength(before);
  });

  it('R2 R25 R26 counts each stage, all five from the start', async () => {
    await nodeRed.deploy([
      tab('stages'),
      step('step', ['sink'], { z: 'stages' }),
      probe('sink', 'stages'),
      dlq('dlq', { z: 'stages' }),
    ]);
    const metrics = await runtimeOf(nodeRed.RED).metrics.render();
    for (const { label } of Object.values(STAGES)) {
      expect(metrics).toContain(`rekuiper_rule_dlq_records_total{rule="stages",stage="${label}"} 0`);
    }
    for (const stage of Object.keys(STAGES)) nodeRed.node('step').receive({ payload: { fail: stage } });
    await waitFor('all failures', () => ruleOf('stages').total === 5);
    const after = await runtimeOf(nodeRed.RED).metrics.render();
    for (const { label } of Object.values(STAGES)) {
      expect(after).toContain(`sluice_dlq_records_total{rule="stages",stage="${label}"} 1`);
    }
  });

  it('R12 halt keeps the record first, then the sources that lead to the tab refuse, until the rule is started', async () => {
    await nodeRed.deploy([
      tab('halting'),
      webhook('hook', { z: 'halting', wires: [['step']] }),
      step('step', ['sink'], { z: 'halting' }),
      probe('sink', 'halting'),
      dlq('dlq', { z: 'halting', onError: 'halt' }),
    ]);
    expect((await callHook(nodeRed, 'hook', { fail: 'DataTemplate' })).status).toBe(422);
    const refused = await callHook(nodeRed, 'hook', { n: 1 });
    expect(refused.status).toBe(503);
    expect(refused.json()).toEqual({ ok: false, result: 'stopped', sink: 'rule', retry_after_secs: 30 });
    const { room } = deadLettersOf(nodeRed);
    expect(room.haltOf('halting')?.cause).toMatchObject({
      error: 'failed at DataTemplate',
      stage: 'DataTemplate',
    });
    expect(await room.start(ruleOf('halting'))).toBe(true);
    expect((await callHook(nodeRed, 'hook', { n: 1 })).status).toBe(200);
  });

  it('R5 a catch node brings what core nodes fail with, and the record is in custody', async () => {
    await nodeRed.deploy([
      tab('tab'),
      webhook('hook', { wires: [['fn']] }),
      functionNode('fn', 'if (msg.payload.bad) throw new Error("division by zero"); return msg;', [['sink']]),
      probe('sink'),
      { id: 'catch', type: 'catch', z: 'tab', scope: null, uncaught: false, wires: [['dlq']] },
      dlq('dlq'),
    ]);
    const answer = await callHook(nodeRed, 'hook', { bad: true });
    expect(answer.status).toBe(200);
    expect(await newest()).toMatchObject({
      envelope: {
        stage: 'SqlEval',
        error: 'Error: division by zero',
        node: { id: 'fn', type: 'function' },
      },
    });
  });

  it('leaves a transient failure to its source, also where a catch node leads to the dlq', async () => {
    await nodeRed.deploy([
      tab('tab'),
      webhook('hook', { wires: [['step']] }),
      step('step', ['sink']),
      probe('sink'),
      { id: 'catch', type: 'catch', z: 'tab', scope: null, uncaught: false, wires: [['dlq']] },
      dlq('dlq'),
    ]);
    const before = (await lettersOf(nodeRed)).length;
    expect((await callHook(nodeRed, 'hook', { fail: 'transient' })).status).toBe(503);
    expect((await callHook(nodeRed, 'hook', { fail: 'config' })).status).toBe(503);
    expect(await lettersOf(nodeRed)).toHaveLength(before);
  });

  it('has one letter for a failure of ours that a catch node leads to the dlq as well', async () => {
    await nodeRed.deploy([
      tab('tab'),
      webhook('hook', { wires: [['step']] }),
      step('step', ['sink']),
      probe('sink'),
      { id: 'catch', type: 'catch', z: 'tab', scope: null, uncaught: false, wires: [['dlq']] },
      dlq('dlq'),
    ]);
    const before = (await lettersOf(nodeRed)).length;
    expect((await callHook(nodeRed, 'hook', { fail: 'permanent' })).status).toBe(200);
    expect(await lettersOf(nodeRed)).toHaveLength(before + 1);
  });
});
