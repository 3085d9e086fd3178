import { afterEach, describe, expect, it } from 'vitest';
import { freePort } from '../../scripts/node-red/ports.mjs';
import { startChildNodeRed, type ChildNodeRed } from '../harness/child-node-red';

const flows = [
  { id: 'tab', type: 'tab' },
  {
    id: 'hook',
    type: 'signed-webhook',
    z: 'tab',
    hook: 'orders',
    scheme: 'github',
    credentials: { secret: 'a secret' },
    wires: [['queue']],
  },
  { id: 'queue', type: 'push-queue', z: 'tab', queue: 'orders', wires: [[], []] },
];

describe('a Node-RED that is starting', () => {
  let child: ChildNodeRed | undefined;
  afterEach(() => child?.remove());

  it('O2 asks senders to come back until the flows run, and never tells them that the hook is unknown', async () => {
    const port = await freePort();
    const statuses = new Set<number>();
    let isRunning = false;
    const knock = async () => {
      while (!isRunning || !statuses.has(401)) {
        const answer = await fetch(`http://127.0.0.1:${port}/api/hooks/orders`, {
          method: 'POST',
          body: '{}',
        }).catch(() => undefined);
        if (answer) statuses.add(answer.status);
        else await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const knocking = [knock(), knock(), knock()];
    child = await startChildNodeRed({ flows, port });
    isRunning = true;
    await Promise.all(knocking);
    // 401 is the hook's own answer to a request without a signature.
    expect([...statuses].filter((status) => status !== 503)).toEqual([401]);
  });
});
