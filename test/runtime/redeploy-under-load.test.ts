import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runtimeOf } from '#lib/node-red/runtime';
import type { HookReceiveEvent, HookSendEvent, Message } from '#lib/node-red/types';
import { startNodeRed, type DeployType, type FlowNode, type RunningNodeRed } from '../harness/node-red';
import { functionNode, probe, probeNodes, tab } from '../harness/probe';
import { queue } from '../harness/queue';
import { entryOf, readStatus } from '../harness/status';
import { waitFor } from '../harness/wait';
import { callHook, webhook } from '../harness/webhook';
import { delay, switchOn } from './lineage-flows';

const PER_SECOND = 500;
const DEPLOYS = 9;
const DEPLOY_EVERY_MS = 250;
const TYPES: readonly DeployType[] = ['nodes', 'flows', 'full'];

let nodeRed: RunningNodeRed;
beforeAll(async () => {
  nodeRed = await startNodeRed({ nodesDir: [probeNodes] });
});
afterAll(() => nodeRed.stop());

/** The deploy's number in a node's name makes Node-RED replace that node. */
function flow(deploys: number): FlowNode[] {
  const name = String(deploys);
  const node = (id: string, type: string, wires: string[][], more: object): FlowNode => ({
    ...{ id, type, z: 'tab', wires },
    ...more,
  });
  return [
    tab(),
    // The sources are replaced now and then only: in between they have to stop and go on by themselves.
    webhook('queued', { name: `q${Math.floor(deploys / 3)}`, wires: [['f']] }),
    functionNode('f', `return {payload: msg.payload} // ${name}`, [['q']]),
    queue('q', { maxQuotaMb: 50, wires: [['slow'], []], retryInitialMs: 20, retryMaxMs: 100 }),
    node('slow', 'delay', [['out']], { ...delay(15), name }),
    probe('out'),
    webhook('direct', { wires: [['w']] }),
    node('w', 'switch', [['wait']], { ...switchOn({ t: 'else' }), name }),
    node('wait', 'delay', [['end']], delay(15)),
    probe('end'),
  ];
}

const numberOf = (msg: Message) => (msg.payload as { n: number }).n;

describe(`N13 deploys under a load of ${PER_SECOND} records a second`, () => {
  it('lose nothing, acknowledge nothing early, and repeat at most what was in flight', async () => {
    const { RED } = nodeRed;
    const arrivals = { out: new Map<number, number>(), end: new Map<number, number>() };
    RED.hooks.add('onReceive.ledger', (event: HookReceiveEvent) => {
      const seen = arrivals[event.destination.id as 'out' | 'end'] as Map<number, number> | undefined;
      if (seen) seen.set(numberOf(event.msg), (seen.get(numberOf(event.msg)) ?? 0) + 1);
    });
    let inFlight = 0;
    RED.events.on('flows:stopping', () => {
      for (const source of runtimeOf(RED).registry.sources) inFlight += Number(source.status()['in_flight']);
    });
    await nodeRed.deploy(flow(0));

    const acknowledged = { queued: new Set<number>(), direct: new Set<number>() };
    const early: number[] = [];
    /** As a sender does: the same record until it gets its 200. */
    const sendUntilAccepted = async (hook: 'queued' | 'direct', n: number) => {
      const id = `${hook}-${n}`;
      // On a busy machine a connection may be reset; a sender knows nothing then, and sends again.
      const isAccepted = () =>
        callHook(nodeRed, hook, { n }, { id }).then(
          ({ status }) => status === 200,
          () => false,
        );
      while (!(await isAccepted())) {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      acknowledged[hook].add(n);
      if (hook === 'direct' && !arrivals.end.has(n)) early.push(n);
    };
    const sending: Promise<void>[] = [];
    const start = Date.now();
    const offer = setInterval(() => {
      const due = ((Date.now() - start) * PER_SECOND) / 1000;
      while (sending.length < due) {
        sending.push(sendUntilAccepted(sending.length % 10 ? 'queued' : 'direct', sending.length));
      }
    }, 10);
    for (let deploys = 1; deploys <= DEPLOYS; deploys += 1) {
      await new Promise((resolve) => setTimeout(resolve, DEPLOY_EVERY_MS));
      await nodeRed.deploy(flow(deploys), TYPES[deploys % TYPES.length]);
    }
    clearInterval(offer);
    await Promise.all(sending);
    await waitFor('an empty queue', async () => {
      const { sinks, sources } = await readStatus(nodeRed);
      return entryOf(sinks, 'q')['records'] === 0 && entryOf(sources, 'q')['in_flight'] === 0;
    });
    RED.hooks.remove('*.ledger');

    expect(inFlight).toBeGreaterThan(0);
    expect(acknowledged.queued.size + acknowledged.direct.size).toBe(sending.length);
    const lost = [...acknowledged.queued].filter((n) => !arrivals.out.has(n));
    expect(lost).toEqual([]);
    expect(early).toEqual([]);
    const received = [...arrivals.out.values()].reduce((sum, times) => sum + times, 0);
    expect(received - arrivals.out.size).toBeLessThanOrEqual(inFlight);
  }, 60_000);
});

describe('N13 sources', () => {
  const bystander = (name: string): FlowNode => ({ ...functionNode('by', 'return msg', [[]]), name });
  const sources: FlowNode[] = [
    tab(),
    webhook('hook', { wires: [['end']] }),
    webhook('receipt', { respond: 'on_receipt', wires: [['end']] }),
    {
      ...{ id: 'api', type: 'ingest-api', z: 'tab', source: 'api', credentials: { token: 'token' } },
      wires: [['end']],
    },
    webhook('fill', { wires: [['q']] }),
    queue('q', { maxInFlight: 4, wires: [['end'], []] }),
    probe('end'),
  ];

  it.each(['nodes', 'flows', 'full'] as const)(
    'send nothing while a %s deploy has flows stopped, and all go on after it',
    async (type) => {
      const { RED } = nodeRed;
      await nodeRed.deploy([...sources, bystander('')]);
      let isStopped = false;
      const sent = { stopped: new Set<string>(), running: new Set<string>() };
      const stopping = () => {
        isStopped = true;
        sent.running.clear();
      };
      const started = () => (isStopped = false);
      RED.events.on('flows:stopping', stopping);
      RED.events.prependListener('flows:started', started);
      RED.hooks.add('preRoute.watch', ({ source }: HookSendEvent) => {
        (isStopped ? sent.stopped : sent.running).add(source.id);
      });
      const isLoaded = { value: true };
      const load = async (hook: string) => {
        while (isLoaded.value) await callHook(nodeRed, hook, { n: 0 });
      };
      const api = async () => {
        for (let n = 0; isLoaded.value; n += 1) {
          const headers = { authorization: 'Bearer token', 'content-type': 'application/json' };
          const url = `${nodeRed.url}/api/ingest/api/${type}-${n}`;
          await fetch(url, { method: 'POST', body: '{}', headers });
        }
      };
      const senders = [load('hook'), load('receipt'), load('fill'), load('fill'), api()];
      const allSend = () =>
        waitFor('all sources to send', () =>
          ['hook', 'receipt', 'api', 'q'].every((id) => sent.running.has(id)),
        );
      for (let deploys = 1; deploys <= 5; deploys += 1) {
        await allSend();
        const kept = RED.nodes.getNode('hook');
        await nodeRed.deploy([...sources, bystander(`${type}${deploys}`)], type);
        // A deploy of changed nodes leaves the sources as they are: nothing but the events tells them.
        if (type === 'nodes') expect(RED.nodes.getNode('hook')).toBe(kept);
      }
      await allSend();
      isLoaded.value = false;
      await Promise.all(senders);
      RED.hooks.remove('*.watch');
      RED.events.off('flows:stopping', stopping);
      RED.events.off('flows:started', started);
      expect([...sent.stopped].filter((id) => id !== 'by')).toEqual([]);
    },
  );
});
