import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { letterFileIn } from '#lib/dead-letter/letter-store';
import type { NodeStatus } from '#lib/node-red/types';
import { deadLettersOf, dlq, lettersOf, step } from '../harness/dead-letters';
import { probe, probeNodes, tab } from '../harness/probe';
import { makeUserDir, startNodeRed, type RunningNodeRed } from '../harness/node-red';
import { waitFor } from '../harness/wait';
import { callHook, webhook } from '../harness/webhook';

let nodeRed: RunningNodeRed;
let userDir: string;
let lock: Database.Database | undefined;
/** What each node shows, by its id. */
const shown = new Map<string, NodeStatus>();
const ruleOf = (id: string) => deadLettersOf(nodeRed).room.rules.of(id);

beforeAll(async () => {
  userDir = await makeUserDir();
  const file = letterFileIn(join(userDir, 'sluice'));
  await mkdir(join(userDir, 'sluice'), { recursive: true });
  // Another process has the file.
  lock = new Database(`${file}.lock`);
  lock.exec('PRAGMA journal_mode = OFF; BEGIN EXCLUSIVE');
  nodeRed = await startNodeRed({ nodesDir: [probeNodes], userDir });
  nodeRed.RED.events.on('node-status', ({ id, status }: { id: string; status: NodeStatus }) =>
    shown.set(id, status),
  );
});
afterAll(async () => {
  lock?.close();
  await nodeRed.stop();
  await rm(userDir, { recursive: true, force: true });
});
afterEach(() => nodeRed.deploy([]));

describe('a dlq whose file another process has', () => {
  it('R16 what can’t be kept is transient and counted, metrics go on, and all is kept once the file can be had', async () => {
    await nodeRed.deploy([
      tab('locked'),
      webhook('hook', { z: 'locked', wires: [['step']] }),
      step('step', ['sink'], { z: 'locked' }),
      probe('sink', 'locked'),
      dlq('dlq', { z: 'locked' }),
    ]);
    const refused = await callHook(nodeRed, 'hook', { fail: 'SqlEval' }, { id: 'msg-1' });
    expect(refused.status).toBe(503);
    expect(ruleOf('locked').total).toBe(1);
    expect((await callHook(nodeRed, 'hook', { n: 1 })).status).toBe(200);
    const metrics = await (await fetch(`${nodeRed.url}/sluice/metrics`)).text();
    expect(metrics).toContain('sluice_dlq_records_total{rule="locked",stage="sql_eval"} 1');
    await waitFor('the status', () => shown.get('dlq')?.fill === 'red');
    expect(shown.get('dlq')?.text).toBe('in use elsewhere');

    lock?.close();
    lock = undefined;
    await waitFor(
      'the file',
      async () => (await callHook(nodeRed, 'hook', { fail: 'SqlEval' }, { id: 'msg-1' })).status === 422,
    );
    expect(await lettersOf(nodeRed, { rule: 'locked' })).toHaveLength(1);
    await waitFor('the status to recover', () => shown.get('dlq')?.fill === 'green');
  });
});
