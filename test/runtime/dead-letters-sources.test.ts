import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { deadLettersOf, dlq, lettersOf, step } from '../harness/dead-letters';
import { probe, probeNodes, tab, type ProbeSink } from '../harness/probe';
import { startNodeRed, type RunningNodeRed } from '../harness/node-red';
import { queue } from '../harness/queue';
import { entryOf, readStatus } from '../harness/status';
import { waitFor } from '../harness/wait';
import { callHook, webhook } from '../harness/webhook';

let nodeRed: RunningNodeRed;
beforeAll(async () => {
  nodeRed = await startNodeRed({ nodesDir: [probeNodes] });
});
afterAll(() => nodeRed.stop());
afterEach(() => nodeRed.deploy([]));

interface Step extends ProbeSink {
  broken: boolean;
}
const received = (id: string) => nodeRed.node<ProbeSink>(id).received;
const FAST = { retryInitialMs: 1, retryMaxMs: 5 };
const replay = (id: number) => deadLettersOf(nodeRed).replays.replay(id);
const source = async () => entryOf((await readStatus(nodeRed)).sources, 'hook');
const sink = async (id: string) => entryOf((await readStatus(nodeRed)).sinks, id);
/** Puts a record into the queue, once its file is open. */
async function put(payload: object): Promise<void> {
  await waitFor('the queue to open', async () => (await sink('q'))['state'] === 'open');
  nodeRed.node('q').receive({ payload });
  await waitFor('the record to be stored', async () => (await sink('q'))['delivered'] !== 0);
}
/** A node of another package, which fails for good in a way that only its source can keep. */
const failForGood = (_msg: unknown, _send: unknown, done: (error?: Error) => void) =>
  done(Object.assign(new Error('never'), { failure: 'permanent' }));

describe('what sources give up', () => {
  it('O34 O67 DL-15 is listed as accepted (200) but not handled, and replayed from the source', async () => {
    await nodeRed.deploy([
      tab('receipt'),
      webhook('hook', { z: 'receipt', hook: 'receipt', respond: 'on_receipt', wires: [['sink']] }),
      probe('sink', 'receipt'),
    ]);
    nodeRed.node<ProbeSink>('sink').finish = (_msg, _send, done) => done(new Error('destination down'));
    expect((await callHook(nodeRed, 'receipt', { n: 1 }, { id: 'msg-o34' })).status).toBe(200);
    await waitFor('the letter', async () => (await lettersOf(nodeRed, { rule: 'receipt' })).length === 1);
    const [letter] = await lettersOf(nodeRed, { rule: 'receipt' });
    expect(letter).toMatchObject({
      place: 'inbox:/api/hooks/receipt',
      state: 'open',
      envelope: {
        error: 'accepted (200) but not handled: destination down',
        record_id: 'msg-o34',
        class: 'transient',
      },
    });
    expect(await source()).toMatchObject({ inbox_pending: 0, inbox_not_handled: 1 });
    nodeRed.node<ProbeSink>('sink').finish = (_msg, _send, done) => done();
    expect(await replay(letter!.id)).toEqual({ state: 'resolved' });
    expect(received('sink').at(-1)).toMatchObject({ payload: { n: 1 }, sluice: { id: 'msg-o34' } });
    await waitFor('the count to fall', async () => (await source())['inbox_not_handled'] === 0);
  });

  it('O66 a queue’s own go to its place, and their count is shown on it', async () => {
    await nodeRed.deploy([
      tab('queued'),
      queue('q', { z: 'queued', queue: 'own', wires: [['sink'], ['dead']], ...FAST }),
      probe('sink', 'queued'),
      probe('dead', 'queued'),
    ]);
    nodeRed.node<ProbeSink>('sink').finish = failForGood;
    await put({ n: 1 });
    await waitFor('output 2', () => received('dead').length === 1);
    const [letter, ...others] = await lettersOf(nodeRed, { place: 'push:own' });
    expect(others).toEqual([]);
    expect(letter).toMatchObject({
      envelope: { error: 'never', node: { id: 'sink' } },
      target: { source: 'q' },
    });
    expect(await sink('q')).toMatchObject({ records: 0, dead: 1, forwarded_total: 0 });
    nodeRed.node<ProbeSink>('sink').finish = (_msg, _send, done) => done();
    expect(await replay(letter!.id)).toEqual({ state: 'resolved' });
    await waitFor('the count to fall', async () => (await sink('q'))['dead'] === 0);
  });

  it('a record behind a queue has one letter, that of the node that failed', async () => {
    await nodeRed.deploy([
      tab('behind'),
      queue('q', { z: 'behind', queue: 'behind', wires: [['step'], ['dead']], ...FAST }),
      step('step', ['sink'], { z: 'behind' }),
      probe('sink', 'behind'),
      probe('dead', 'behind'),
      dlq('dlq', { z: 'behind' }),
    ]);
    await put({ fail: 'SchemaValidation', n: 1 });
    await waitFor('the queue to be empty', async () => (await sink('q'))['records'] === 0);
    const letters = await lettersOf(nodeRed, { rule: 'behind' });
    expect(letters).toMatchObject([{ place: 'pipeline', target: { node: 'step', source: 'q' } }]);
    expect(await sink('q')).toMatchObject({ dead: 0 });
    nodeRed.node<Step>('step').broken = false;
    expect(await replay(letters[0]!.id)).toEqual({ state: 'resolved' });
    expect(received('sink')).toMatchObject([{ payload: { n: 1 } }]);
  });

  it('tells a failure once, however often another branch has the record tried again', async () => {
    await nodeRed.deploy([
      tab('again'),
      queue('q', { z: 'again', queue: 'again', wires: [['step', 'sink'], []], ...FAST }),
      step('step', [], { z: 'again' }),
      probe('sink', 'again'),
      dlq('dlq', { z: 'again' }, ['audit']),
      probe('audit', 'again'),
    ]);
    nodeRed.node<ProbeSink>('sink').finish = (_msg, _send, done) =>
      done(received('sink').length < 4 ? new Error('down') : undefined);
    await put({ fail: 'SqlEval', n: 1 });
    await waitFor('the queue to be empty', async () => (await sink('q'))['records'] === 0);
    expect(received('sink').length).toBeGreaterThanOrEqual(4);
    expect(await lettersOf(nodeRed, { rule: 'again' })).toHaveLength(1);
    expect(received('audit')).toHaveLength(1);
    expect(deadLettersOf(nodeRed).room.rules.of('again').total).toBe(1);
  });

  it('DL-09 keeps an accepted record that looks like a dead letter, and sends it on no more', async () => {
    await nodeRed.deploy([
      tab('lookalike'),
      queue('q', { z: 'lookalike', queue: 'lookalike', wires: [['step'], []], ...FAST }),
      step('step', [], { z: 'lookalike' }),
      dlq('dlq', { z: 'lookalike' }, ['audit']),
      probe('audit', 'lookalike'),
    ]);
    await put({ rule_id: 'x', stage: 'SqlEval', stage_code: 2, timestamp: 1, error: 'e', fail: 'SqlEval' });
    await waitFor('the queue to be empty', async () => (await sink('q'))['records'] === 0);
    expect(await lettersOf(nodeRed, { rule: 'lookalike' })).toMatchObject([{ state: 'open' }]);
    expect(received('audit')).toHaveLength(0);
    expect(deadLettersOf(nodeRed).room.rules.of('lookalike').sinkFailures).toBe(1);
  });

  it('on a tab that only counts, a queue’s record is kept all the same: its origin was told that it is safe', async () => {
    await nodeRed.deploy([
      tab('counting'),
      queue('q', { z: 'counting', queue: 'counting', wires: [['step'], []], ...FAST }),
      step('step', [], { z: 'counting' }),
    ]);
    await put({ fail: 'SqlEval' });
    await waitFor('the queue to be empty', async () => (await sink('q'))['records'] === 0);
    expect(await lettersOf(nodeRed, { rule: 'counting' })).toMatchObject([
      { place: 'push:counting', envelope: { stage: 'SqlEval' } },
    ]);
    expect(deadLettersOf(nodeRed).room.rules.of('counting').total).toBe(1);
  });

  it('a permanent failure that no node kept is kept by its source', async () => {
    await nodeRed.deploy([
      tab('uncaught'),
      webhook('hook', { z: 'uncaught', hook: 'uncaught', wires: [['sink']] }),
      probe('sink', 'uncaught'),
      dlq('dlq', { z: 'uncaught' }),
    ]);
    nodeRed.node<ProbeSink>('sink').finish = failForGood;
    expect((await callHook(nodeRed, 'uncaught', { n: 1 })).status).toBe(422);
    const letters = await lettersOf(nodeRed, { rule: 'uncaught' });
    expect(letters).toMatchObject([{ target: { source: 'hook' }, envelope: { node: { id: 'sink' } } }]);
  });

  it('O77 a record that would leave by an output without a wire becomes a dead letter as it came in', async () => {
    await nodeRed.deploy([
      tab('unwired'),
      webhook('hook', { z: 'unwired', hook: 'unwired', codec: 'text', wires: [['decode']] }),
      { id: 'decode', type: 'record-decode', z: 'unwired', codec: 'json', wires: [[]] },
      probe('sink', 'unwired'),
      dlq('dlq', { z: 'unwired' }),
    ]);
    expect((await callHook(nodeRed, 'unwired', '{"n":1}')).status).toBe(422);
    const [letter] = await lettersOf(nodeRed, { rule: 'unwired' });
    expect(letter).toMatchObject({
      envelope: { error_code: 'ERR_SLUICE_OUTPUT_UNWIRED', raw_payload: '{"n":1}' },
    });
    await nodeRed.deploy([
      tab('unwired'),
      webhook('hook', { z: 'unwired', hook: 'unwired', codec: 'text', wires: [['decode']] }),
      { id: 'decode', type: 'record-decode', z: 'unwired', codec: 'json', wires: [['sink']] },
      probe('sink', 'unwired'),
    ]);
    expect(await replay(letter!.id)).toEqual({ state: 'resolved' });
    expect(received('sink')).toMatchObject([{ payload: { n: 1 } }]);
  });

  it('R12 a stopped rule holds back the queue that leads to it', async () => {
    await nodeRed.deploy([
      tab('stopping'),
      queue('q', { z: 'stopping', queue: 'stopping', wires: [['step'], []], ...FAST }),
      step('step', ['sink'], { z: 'stopping' }),
      probe('sink', 'stopping'),
      dlq('dlq', { z: 'stopping', onError: 'halt' }),
    ]);
    await put({ fail: 'SqlEval' });
    const { room } = deadLettersOf(nodeRed);
    await waitFor('the rule to stop', () => room.haltOf('stopping') !== undefined);
    await put({ n: 1 });
    await waitFor('the queue to wait', async () => {
      const { sources } = await readStatus(nodeRed);
      return entryOf(sources, 'q')['state'] === 'stopped';
    });
    expect(received('sink')).toHaveLength(0);
    await room.start(room.rules.of('stopping'));
    await waitFor('the record to go on', () => received('sink').length === 1);
  });
});
