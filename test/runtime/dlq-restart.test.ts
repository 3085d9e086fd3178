import { afterEach, describe, expect, it } from 'vitest';
import { sluice } from '../harness/cli';
import { startChildNodeRed, type ChildNodeRed } from '../harness/child-node-red';
import { dlq } from '../harness/dead-letters';
import { startDestination, type Destination } from '../harness/destination';
import type { FlowNode } from '../harness/node-red';
import { tab } from '../harness/probe';
import { waitFor } from '../harness/wait';
import { callHook, webhook } from '../harness/webhook';

let child: ChildNodeRed | undefined;
let destination: Destination | undefined;
afterEach(async () => {
  await child?.remove();
  await destination?.close();
  child = destination = undefined;
});

const get = async (node: ChildNodeRed, path: string) =>
  (await (await fetch(`${node.url}/sluice${path}`)).json()) as Record<string, unknown>;

describe('a rule that is stopped', () => {
  it('R12 halts, is still stopped with its cause after Node-RED was killed, starts, and replays everything', async () => {
    destination = await startDestination();
    let isMended = false;
    destination.answer(() => ({ status: isMended ? 200 : 422 }));
    const rest = `${destination.url.replace('localhost', '127.0.0.1')}/records`;
    const flows = (onError: string): FlowNode[] => [
      tab('orders'),
      webhook('hook', { z: 'orders', wires: [['rest']] }),
      { id: 'rest', type: 'rest-sink', z: 'orders', url: rest, wires: [[]] },
      dlq('dlq', { z: 'orders', onError }),
    ];
    child = await startChildNodeRed({ flows: flows('dlq') });
    for (let n = 0; n < 5; n += 1)
      expect((await callHook(child, 'hook', { n }, { id: `msg-${n}` })).status).toBe(422);
    const { userDir, port } = child;
    await child.stop();
    child = await startChildNodeRed({ userDir, port, flows: flows('halt') });
    expect((await callHook(child, 'hook', { n: 5 }, { id: 'msg-5' })).status).toBe(422);
    await child.kill();

    child = await startChildNodeRed({ userDir, port });
    const refused = await callHook(child, 'hook', { n: 6 });
    expect(refused.status).toBe(503);
    expect(refused.json()).toMatchObject({ result: 'stopped', sink: 'rule' });
    const { rules } = (await get(child, '/rules')) as { rules: object[] };
    expect(rules).toMatchObject([
      {
        rule_id: 'orders',
        status: 'stopped',
        on_error: 'halt',
        cause: { stage: 'SinkDelivery', error_code: 'ERR_SLUICE_REST_REJECTED', dead_letter: '6' },
      },
    ]);
    expect(child.log()).toContain('is stopped');

    isMended = true;
    const env = { SLUICE_URL: child.url };
    expect(await sluice(['start', 'orders'], env)).toMatchObject({ status: 0 });
    expect((await callHook(child, 'hook', { n: 6 })).status).toBe(200);
    const redriven = await sluice(['redrive', 'orders', '--rate', '200'], env);
    expect(redriven).toMatchObject({ status: 0, stdout: 'done: 6 of 6 resolved, 0 failed, 0 left alone\n' });
    const { requests } = destination;
    const keys = requests.map(({ headers }) => headers['idempotency-key']);
    expect(new Set(keys.slice(-6)), 'the same deliveries as before').toEqual(new Set(keys.slice(0, 6)));
    await waitFor('all to be resolved', async () => {
      const { dead_letters: letters } = (await get(child!, '/dlq?state=resolved')) as {
        dead_letters: object[];
      };
      return letters.length === 6;
    });
  });
});
