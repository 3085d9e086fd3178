import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeFlows } from '../../scripts/node-red/user-dir.mjs';
import { startDestination, type Destination } from '../harness/destination';
import { makeUserDir, type FlowNode } from '../harness/node-red';
import { tab } from '../harness/probe';
import { webhook } from '../harness/webhook';

const script = join(import.meta.dirname, 'stop-node-red.child.mjs');
/** What a stopped Node-RED itself and a connection that times out may take. */
const PATIENCE_MS = 15_000;

describe('a Node-RED that an application stops', () => {
  let userDir: string;
  let destination: Destination;
  beforeEach(async () => {
    userDir = await makeUserDir();
    destination = await startDestination();
  });
  afterEach(async () => {
    await destination.close();
    await rm(userDir, { recursive: true, force: true });
  });

  async function run(what: 'flow' | 'nothing') {
    const child = spawn(process.execPath, [script, userDir, what]);
    let output = '';
    let stoppedAt = 0;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (output.includes('stopped')) stoppedAt ||= performance.now();
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
    const timer = setTimeout(() => child.kill('SIGKILL'), 2 * PATIENCE_MS);
    const code = await new Promise<number | null>((resolve) => child.on('exit', resolve));
    clearTimeout(timer);
    return { code, output, lingeredMs: performance.now() - stoppedAt };
  }

  it('N13 leaves no timer, thread or socket of ours that would keep the process', async () => {
    const github = (hook: string, respond: string, wires: string[][]): FlowNode => ({
      ...webhook(hook, { hook, respond, wires, x: 1, y: 1 }),
      scheme: 'github',
      credentials: { secret: 'secret' },
    });
    const placed = { x: 1, y: 1, z: 'tab' };
    await writeFlows(userDir, [
      tab(),
      github('done', 'on_done', [['queue']]),
      github('receipt', 'on_receipt', [['queue']]),
      { id: 'queue', type: 'push-queue', queue: 'q', wires: [['rest'], []], ...placed },
      { id: 'off', type: 'push-queue', queue: 'off', enabled: false, wires: [[], []], ...placed },
      { id: 'rest', type: 'rest-sink', url: destination.url, wires: [[]], ...placed },
    ]);
    const { code, output, lingeredMs } = await run('flow');
    expect(output).toContain('accepted');
    expect(output).toContain('stopped');
    expect(code, output).toBe(0);
    expect(lingeredMs).toBeLessThan(PATIENCE_MS);
  }, 60_000);
});
