import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LedgerDocument } from '#lib/api/ledger-document';
import { runtimeOf } from '#lib/node-red/runtime';
import { DeliveryError } from '#lib/errors/errors';
import { startNodeRed, type RunningNodeRed } from '../harness/node-red';
import { probe, probeNodes, tab, type ProbeSink } from '../harness/probe';
import { readMetrics, valueOf } from '../harness/prometheus';
import { megabytes, queue } from '../harness/queue';
import { waitFor } from '../harness/wait';
import { callHook, webhook } from '../harness/webhook';

let nodeRed: RunningNodeRed;
beforeAll(async () => {
  nodeRed = await startNodeRed({ nodesDir: [probeNodes] });
});
afterAll(() => nodeRed.stop());

async function ledger(): Promise<LedgerDocument> {
  const answer = await fetch(`${nodeRed.url}/sluice/api/status`);
  return ((await answer.json()) as { ledger: LedgerDocument }).ledger;
}
async function accountOf(id: string): Promise<LedgerDocument['sources'][number]> {
  const found = (await ledger()).sources.find((source) => source.id === id);
  if (!found) throw new Error(`the ledger has no ${id}`);
  return found;
}
const balanced = async () => (await ledger()).sources.every(({ difference }) => difference === 0);
const sinkOf = (id: string) => runtimeOf(nodeRed.RED).registry.sinks.find((sink) => sink.id === id);
const FAST = { retryInitialMs: 5, retryMaxMs: 20 };

describe('N15 the ledger of a running flow', () => {
  it('has every accepted record: delivered, returned to its sender, given up, and waiting', async () => {
    await nodeRed.deploy([tab(), webhook('orders', { wires: [['end']] }), probe('end')]);
    let outcome: Error | undefined;
    nodeRed.node<ProbeSink>('end').finish = (_msg, _send, done) => done(outcome);
    expect((await callHook(nodeRed, 'orders', 1)).status).toBe(200);
    outcome = new Error('not now');
    expect((await callHook(nodeRed, 'orders', 2)).status).toBe(503);
    outcome = new DeliveryError('ERR_SLUICE_REST_REJECTED', 'never', { failure: 'permanent' });
    expect((await callHook(nodeRed, 'orders', 3)).status).toBe(422);
    expect(await accountOf('orders')).toMatchObject({
      accepted: 3,
      delivered: 1,
      returned: 1,
      dead: 1,
      in_flight: 0,
      difference: 0,
    });
  });

  it('follows records into a queue and out of it, over a deploy and evictions, by source and in total', async () => {
    const flow = (version: number) => [
      tab(),
      webhook('in', { wires: [['q']], version }),
      queue('q', {
        wires: [['end'], []],
        onFull: 'evict_oldest',
        maxQuotaMb: megabytes(3000),
        maxInFlight: 2,
        ...FAST,
        version,
      }),
      { ...probe('end'), version },
    ];
    await nodeRed.deploy(flow(1));
    await waitFor('the queue to open', () => sinkOf('q')?.status()['state'] === 'open');
    const held: (() => void)[] = [];
    nodeRed.node<ProbeSink>('end').finish = (_msg, _send, done) => void held.push(() => done());
    for (let record = 0; record < 20; record += 1) {
      expect((await callHook(nodeRed, 'in', { record, filler: 'x'.repeat(200) })).status).toBe(200);
    }
    await waitFor('evictions', async () => (await accountOf('q')).evicted > 0);
    await waitFor('the ledger to balance', balanced);
    expect(await accountOf('q')).toMatchObject({ accepted: 20, difference: 0 });
    await nodeRed.deploy(flow(2));
    await waitFor('the rest to leave', async () => {
      const { queued, in_flight: out } = await accountOf('q');
      return queued + out === 0;
    });
    await waitFor('the ledger to balance', balanced);
    const { delivered, evicted, accepted } = await accountOf('q');
    expect([accepted, delivered + evicted]).toEqual([20, 20]);
    const { total } = await ledger();
    expect(total.difference).toBe(0);
    const samples = readMetrics(await runtimeOf(nodeRed.RED).metrics.render());
    expect(valueOf(samples, 'sluice_ledger_difference', { source: 'push' })).toBe(0);
  });

  it('carries over what a file held before, and what the inbox holds', async () => {
    const flow = (wires: string[][], version: number) => [
      tab(),
      webhook('receipt', { respond: 'on_receipt', wires: [['end']], version }),
      queue('kept', { wires, version }),
      probe('end'),
    ];
    await nodeRed.deploy(flow([[], []], 1));
    const sink = () => sinkOf('kept');
    await waitFor('the queue to open', () => sink()?.status()['state'] === 'open');
    nodeRed.node('kept').receive({ payload: 1 });
    await waitFor('the record', () => sink()?.status()['records'] === 1);
    expect((await callHook(nodeRed, 'receipt', 1)).status).toBe(200);
    await waitFor('it to be handled', async () => (await accountOf('receipt')).delivered === 1);
    expect(await accountOf('receipt')).toMatchObject({ accepted: 1, difference: 0 });
    await nodeRed.deploy([]);
    await nodeRed.deploy(flow([['end'], []], 2));
    await waitFor('the record to leave', async () => (await accountOf('kept')).delivered === 1);
    await waitFor('the ledger to balance', balanced);
    expect(await accountOf('kept')).toMatchObject({ queued: 0, difference: 0 });
  });
});
