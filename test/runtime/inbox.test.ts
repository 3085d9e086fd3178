import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startNodeRed, type FlowNode, type RunningNodeRed } from '../harness/node-red';
import { probe, probeNodes, stuck, tab, type ProbeSink, type ProbeStuck } from '../harness/probe';
import { megabytes, queue } from '../harness/queue';
import { entryOf, readStatus } from '../harness/status';
import { waitFor } from '../harness/wait';
import { callHook, webhook } from '../harness/webhook';

describe('respond on_receipt in Node-RED', () => {
  let nodeRed: RunningNodeRed;
  let hooks = 0;
  let hook = '';
  /** Each test has a hook of its own: rows and verdicts stay with the address. */
  const receiver = (properties: Record<string, unknown> = {}): FlowNode =>
    webhook('w', { hook, respond: 'on_receipt', wires: [['sink']], ...properties });
  const deploy = async (nodes: () => FlowNode[]) => {
    hook = `receipt-${(hooks += 1)}`;
    await nodeRed.deploy([tab(), ...nodes()]);
  };
  const redeploy = (...nodes: FlowNode[]) => nodeRed.deploy([tab(), ...nodes]);
  const source = async () => entryOf((await readStatus(nodeRed)).sources, 'w');
  const sink = () => nodeRed.node<ProbeSink>('sink');
  const held = () => nodeRed.node<ProbeStuck>('stuck').stuck;
  const call = (body: unknown, id?: string) => callHook(nodeRed, hook, body, id === undefined ? {} : { id });
  const isEmpty = async () => (await source())['inbox_pending'] === 0;

  beforeAll(async () => {
    nodeRed = await startNodeRed({ nodesDir: [probeNodes] });
  });
  afterAll(() => nodeRed.stop());

  it('O33 N8 answers 200 accepted once the record is in the inbox, before the flow is done', async () => {
    await deploy(() => [receiver({ wires: [['stuck']] }), stuck('stuck')]);
    const answer = await call({ order: 1 }, 'msg_1');
    expect(answer.json()).toEqual({ ok: true, result: 'accepted', id: 'msg_1' });
    await waitFor('the record in the flow', () => held().length === 1);
    expect(await source()).toMatchObject({ inbox_pending: 1, inbox_not_handled: 0 });
    held().forEach((done) => done());
    await waitFor('the inbox to be empty', isEmpty);
  });

  it('BP-13 O67 a record that fails stays as accepted but not handled, and the status says so', async () => {
    await deploy(() => [receiver(), probe('sink')]);
    sink().finish = (_msg, _send, done) => done(new Error('destination down'));
    expect((await call({ order: 1 })).status).toBe(200);
    await waitFor('the record to be parked', async () => (await source())['inbox_not_handled'] === 1);
    await waitFor('the inbox to be empty', isEmpty);
  });

  it('a failed record runs again as often as inboxRetries allows', async () => {
    await deploy(() => [receiver({ inboxRetries: 1 }), probe('sink')]);
    let runs = 0;
    sink().finish = (_msg, _send, done) => done((runs += 1) === 1 ? new Error('not yet') : undefined);
    await call({ order: 1 });
    await waitFor('the second run', () => runs === 2);
    await waitFor('the inbox to be empty', isEmpty);
    expect(sink().received.map((msg) => (msg['sluice'] as { attempt: number }).attempt)).toEqual([1, 2]);
  });

  it('N13 a record that a deploy aborted runs again after it', async () => {
    await deploy(() => [receiver({ wires: [['stuck']] }), stuck('stuck')]);
    await call({ order: 1 }, 'msg_aborted');
    await waitFor('the record in the flow', () => held().length === 1);
    await redeploy(receiver(), probe('sink'));
    await waitFor('the record in the new flow', () => sink().received.length === 1);
    expect(sink().received[0]).toMatchObject({ payload: { order: 1 }, sluice: { id: 'msg_aborted' } });
    await waitFor('the inbox to be empty', isEmpty);
  });

  it('a record aborted by many deploys is not taken for one that ends the process', async () => {
    await deploy(() => [receiver({ wires: [['stuck']] }), stuck('stuck')]);
    await call({ order: 1 });
    for (let round = 0; round < 5; round += 1) {
      await waitFor('the record in the flow', () => held().length === 1);
      await redeploy(receiver({ wires: [['stuck']], name: `round ${round}` }), stuck('stuck'));
    }
    await redeploy(receiver(), probe('sink'));
    await waitFor('the record in the last flow', () => sink().received.length === 1);
    await waitFor('the inbox to be empty', isEmpty);
    expect(await source()).toMatchObject({ inbox_not_handled: 0 });
  });

  it('refuses like on_done while a reachable sink is full', async () => {
    await deploy(() => [
      receiver({ wires: [['full']] }),
      queue('full', { queue: hook, maxQuotaMb: megabytes(100) }),
    ]);
    await waitFor('the first record', async () => (await call({ first: true })).status === 200);
    await waitFor('a refusal', async () => (await call({ second: true })).status === 503);
    await waitFor('the inbox to be empty', isEmpty);
  });

  it('acceptWhileFull takes records into the inbox while a sink is full, and delivers them later', async () => {
    const full = (bytes: number) => queue('full', { queue: hook, maxQuotaMb: megabytes(bytes) });
    await deploy(() => [receiver({ acceptWhileFull: true, wires: [['full']] }), full(100)]);
    await waitFor('the first record in the queue', async () => {
      await call({ first: true }, 'msg_first');
      return isEmpty();
    });
    expect((await call({ second: true }, 'msg_second')).json()).toMatchObject({ result: 'accepted' });
    expect(await source()).toMatchObject({ inbox_pending: 1 });
    await redeploy(receiver({ acceptWhileFull: true, wires: [['full']] }), full(1_000_000));
    await waitFor('the inbox to be empty', isEmpty);
    const { sinks } = await readStatus(nodeRed);
    expect(entryOf(sinks, 'full')).toMatchObject({ records: 2 });
  });

  it('a repeat of an accepted record is answered the same and runs once', async () => {
    await deploy(() => [receiver(), probe('sink')]);
    await call({ order: 1 }, 'msg_repeat');
    expect((await call({ order: 1 }, 'msg_repeat')).json()).toEqual({
      ok: true,
      result: 'accepted',
      id: 'msg_repeat',
    });
    await waitFor('the inbox to be empty', isEmpty);
    expect(sink().received).toHaveLength(1);
  });
});
