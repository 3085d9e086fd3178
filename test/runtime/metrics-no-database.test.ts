import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it, vi, type MockInstance } from 'vitest';
import { deadLettersOf, dlq, step } from '../harness/dead-letters';
import { startNodeRed, type RunningNodeRed } from '../harness/node-red';
import { probeNodes, tab } from '../harness/probe';
import { readMetrics, valueOf } from '../harness/prometheus';
import { queue } from '../harness/queue';
import { readStatus } from '../harness/status';
import { waitFor } from '../harness/wait';
import { callHook, webhook } from '../harness/webhook';

let nodeRed: RunningNodeRed;
beforeAll(async () => {
  nodeRed = await startNodeRed({ nodesDir: [probeNodes] });
  await nodeRed.deploy([
    tab('rule'),
    webhook('hook', { z: 'rule', wires: [['step']] }),
    step('step', ['q'], { z: 'rule' }),
    // It leads nowhere: a queue that drains has work of its own.
    queue('q', { z: 'rule' }),
    dlq('dlq', { z: 'rule' }),
  ]);
  await waitFor('the queue to open', async () => (await readStatus(nodeRed)).sinks[0]?.['state'] === 'open');
});
afterAll(() => nodeRed.stop());

const scrape = async () => readMetrics(await (await fetch(`${nodeRed.url}/sluice/metrics`)).text());
const fail = (n: number) => callHook(nodeRed, 'hook', { fail: n % 2 ? 'SqlEval' : 'SchemaValidation', n });
const STAGE = 'sluice_dlq_records_total';

/** Every way from this thread to a database: its own statements, and messages to the threads that have files open. */
function watchDatabases(): { readonly calls: () => number; readonly restore: () => void } {
  const memory = new Database(':memory:');
  const statement = Object.getPrototypeOf(memory.prepare('SELECT 1')) as Database.Statement;
  memory.close();
  const spies: readonly MockInstance[] = [
    vi.spyOn(Worker.prototype, 'postMessage'),
    vi.spyOn(Database.prototype, 'prepare'),
    vi.spyOn(Database.prototype, 'exec'),
    ...(['run', 'get', 'all', 'iterate'] as const).map((name) => vi.spyOn(statement, name)),
  ];
  return {
    calls: () => spies.reduce((total, { mock }) => total + mock.calls.length, 0),
    restore: () => spies.forEach((spy) => spy.mockRestore()),
  };
}

/** Whether a count has stayed the same for so long. */
function quietFor(ms: number, count: () => number): () => boolean {
  let last = count();
  let since = performance.now();
  return () => {
    if (count() !== last) {
      last = count();
      since = performance.now();
    }
    return performance.now() - since >= ms;
  };
}

describe('GET /sluice/metrics', () => {
  it('R16 touches no SQLite, neither here nor in the threads that have the files open', async () => {
    expect((await fail(0)).status).toBe(422);
    expect((await callHook(nodeRed, 'hook', { n: 1 })).status).toBe(200);
    const { calls, restore } = watchDatabases();
    try {
      const { status } = await callHook(nodeRed, 'hook', { n: 2 });
      expect([status, calls() > 0]).toEqual([200, true]);
      await waitFor('quiet: the inbox notes ids a little later', quietFor(1000, calls));
      const before = calls();
      await Promise.all(Array.from({ length: 20 }, scrape));
      expect(calls()).toBe(before);
    } finally {
      restore();
    }
  });

  it('R16 counts each stage exactly and takes no lock on rule state, while it is read all the time', async () => {
    const rule = deadLettersOf(nodeRed).room.rules.of('rule');
    const before = { ...rule.byStage };
    const answers = await Promise.all(
      Array.from({ length: 100 }, async (_, n) => {
        const [answer, samples] = await Promise.all([fail(n + 10), scrape()]);
        expect(valueOf(samples, STAGE, { rule: 'rule', stage: 'sql_eval' })).toBeLessThanOrEqual(50);
        return answer.status;
      }),
    );
    expect(new Set(answers)).toEqual(new Set([422]));
    expect(rule.byStage).toEqual({
      ...before,
      SqlEval: before.SqlEval + 50,
      SchemaValidation: before.SchemaValidation + 50,
    });
    const samples = await scrape();
    for (const [stage, label] of [
      ['SqlEval', 'sql_eval'],
      ['SchemaValidation', 'schema_validation'],
    ] as const) {
      expect(valueOf(samples, STAGE, { rule: 'rule', stage: label })).toBe(rule.byStage[stage]);
    }
  });
});
