import { readdirSync, readlinkSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startNodeRed, type FlowNode, type RunningNodeRed } from '../harness/node-red';
import { probe, probeNodes, tab, type ProbeSink } from '../harness/probe';
import { waitFor } from '../harness/wait';
import { callHook, webhook } from '../harness/webhook';

/** Descriptors of this process, in which Node-RED runs; one that is closed meanwhile has no link any more. */
function openInboxFiles(): number {
  const links = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return '';
    }
  });
  return links.filter((file) => file.endsWith('/inbox.db')).length;
}

describe('two sources on one path', () => {
  let nodeRed: RunningNodeRed;
  const deploy = (...nodes: FlowNode[]) => nodeRed.deploy([tab(), ...nodes]);

  beforeAll(async () => {
    nodeRed = await startNodeRed({ nodesDir: [probeNodes] });
  });
  afterAll(() => nodeRed.stop());

  it('of two nodes with one hook name the second shows it, the first serves, and the inbox is released', async () => {
    const shown: { id: string; status: { fill?: string; text?: string } }[] = [];
    nodeRed.RED.events.on('node-status', (event: (typeof shown)[number]) => shown.push(event));
    await deploy(
      webhook('w', { wires: [['sink']] }),
      webhook('w2', { hook: 'w', wires: [['other']] }),
      probe('sink'),
      probe('other'),
    );
    await waitFor('the inbox to be open', () => openInboxFiles() > 0);
    await waitFor('the first to run', () =>
      shown.some(({ id, status }) => id === 'w' && status.fill === 'green'),
    );
    expect(shown.filter(({ id }) => id === 'w2').at(-1)?.status).toMatchObject({
      fill: 'red',
      text: 'path taken',
    });
    expect((await callHook(nodeRed, 'w', {})).status).toBe(200);
    expect(nodeRed.node<ProbeSink>('other').received).toHaveLength(0);
    await deploy();
    await waitFor('the inbox to be closed', () => openInboxFiles() === 0);
  });
});
