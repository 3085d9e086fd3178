import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { AlertCentre } from '#lib/alert/alert-centre';
import { StoreError } from '#lib/errors/errors';
import { runtimeOf } from '#lib/node-red/runtime';
import type { Message, NodeStatus } from '#lib/node-red/types';
import { startNodeRed, type FlowNode, type RunningNodeRed } from '../harness/node-red';
import { functionNode, probe, probeNodes, tab, type ProbeSink } from '../harness/probe';
import { megabytes, queue } from '../harness/queue';
import { waitFor } from '../harness/wait';

let nodeRed: RunningNodeRed;
let alerts: AlertCentre;
let statuses: NodeStatus[] = [];
beforeAll(async () => {
  nodeRed = await startNodeRed({ nodesDir: [probeNodes] });
  alerts = runtimeOf(nodeRed.RED).alerts;
  nodeRed.RED.events.on('node-status', ({ id, status }: { id: string; status: NodeStatus }) => {
    if (id === 'alert') statuses.push(status);
  });
});
afterAll(() => nodeRed.stop());
afterEach(async () => {
  await nodeRed.deploy([]);
  statuses = [];
});

const alertNode = (more: Record<string, unknown> = {}): FlowNode => ({
  id: 'alert',
  type: 'alert',
  z: 'tab',
  wires: [['mail']],
  ...more,
});
const full = (id: string) => queue(id, { maxQuotaMb: megabytes(100) });
const received = (): readonly Message[] => nodeRed.node<ProbeSink>('mail').received;
const told = () => received().map(({ payload }) => payload);

async function fill(id: string): Promise<void> {
  const sink = runtimeOf(nodeRed.RED).registry.sinks.find((each) => each.id === id);
  await waitFor('the queue to open', () => sink?.status()['state'] === 'open');
  nodeRed.node(id).receive({ payload: 'x'.repeat(200) });
  await waitFor('the full queue', () => sink?.status().level === 'full');
}

describe('the alert node', () => {
  it('O35 O37 O39 emits text, subject and numbers when a queue is full, and when it has room again', async () => {
    await nodeRed.deploy([tab(), full('q'), alertNode(), probe('mail')]);
    await fill('q');
    alerts.check();
    await waitFor('the alert', () => received().length === 1);
    expect(received()[0]).toMatchObject({
      payload: expect.stringContaining('push-queue "q" is full: refusing new records') as string,
      topic: 'critical: q',
      alert: {
        kind: 'queue',
        what: 'block',
        level: 'full',
        severity: 'critical',
        repeat: false,
        place: { id: 'q', name: 'q', type: 'push-queue', z: 'tab' },
        limit: 100,
      },
    });
    await waitFor('the status', () => statuses.at(-1)?.text === '1 open');
    await nodeRed.deploy([tab(), { ...full('q'), maxQuotaMb: 1 }, alertNode(), probe('mail')], 'nodes');
    await waitFor(
      'the queue to open',
      () => runtimeOf(nodeRed.RED).registry.sinks[0]?.status()['records'] === 1,
    );
    alerts.check();
    await waitFor('the recovery', () => told().some((text) => String(text).includes('has room again')));
  });

  it('O35 repeats nothing after a deploy of any type', async () => {
    const flow = [tab(), full('q2'), alertNode(), probe('mail')];
    await nodeRed.deploy(flow);
    await fill('q2');
    alerts.check();
    await waitFor('the alert', () => received().length === 1);
    const before = received();
    await nodeRed.deploy([...flow.slice(0, 3), { ...probe('mail'), changed: 1 }], 'nodes');
    alerts.check();
    await nodeRed.deploy([tab(), full('q2'), alertNode({ changed: 1 }), probe('mail')], 'full');
    await waitFor(
      'the queue to open',
      () => runtimeOf(nodeRed.RED).registry.sinks[0]?.status()['records'] === 1,
    );
    alerts.check();
    runtimeOf(nodeRed.RED)
      .alerts.place({ id: 'runtime', name: 'the runtime', type: 'sluice' })
      .happened('fault', 'LAST', 'end');
    await waitFor('what comes after', () => told().some((text) => String(text).includes('LAST')));
    expect(before).toHaveLength(1);
    expect(received()).toHaveLength(1);
  });

  it('tells only of the kinds and places that it is set to', async () => {
    await nodeRed.deploy([
      tab(),
      full('one'),
      full('two'),
      alertNode({ scope: 'two', kinds: 'queue,dead' }),
      probe('mail'),
    ]);
    await fill('one');
    await fill('two');
    alerts.about('two')?.raise('fault', new StoreError('ERR_SLUICE_QUEUE_IO', 'the disk fails'));
    alerts.about('one')?.happened('dead', 'ERR_SLUICE_QUEUE_REJECTED', 'not for us');
    alerts.check();
    alerts.about('two')?.happened('dead', 'ERR_SLUICE_QUEUE_REJECTED', 'record 1');
    await waitFor('both alerts', () => received().length >= 2);
    expect(told()).toEqual([
      expect.stringContaining('"two" is full'),
      expect.stringContaining('"two": records went to the dead letters'),
    ]);
    alerts.about('two')?.clear();
  });

  it('counts an alert whose wired node fails, and tries it again, in order', async () => {
    await nodeRed.deploy([tab(), full('q3'), alertNode({ name: 'mailer', scope: 'q3' }), probe('mail')]);
    let isDown = true;
    nodeRed.node<ProbeSink>('mail').finish = (_msg, _send, done) =>
      isDown ? done(new Error('no mail server')) : done();
    alerts.about('q3')?.happened('fault', 'FIRST', 'one');
    alerts.about('q3')?.happened('fault', 'SECOND', 'two');
    await waitFor('a second try', () => received().length >= 2);
    expect(told().every((text) => String(text).includes('FIRST'))).toBe(true);
    await waitFor('the status', () => statuses.some(({ text }) => text === '2 not delivered'));
    isDown = false;
    await waitFor('both', () => told().some((text) => String(text).includes('SECOND')));
    await waitFor('the count', async () =>
      /sluice_delivery_attempts_total\{sink="mailer",outcome="done"\} 2/.test(
        await runtimeOf(nodeRed.RED).metrics.render(),
      ),
    );
    expect(await runtimeOf(nodeRed.RED).metrics.render()).toMatch(
      /sluice_delivery_attempts_total\{sink="mailer",outcome="transient"\} [1-9]/,
    );
  });

  it('N13 keeps an alert over a deploy that interrupts it', async () => {
    const flow = (version: number) => [
      tab(),
      full('q4'),
      alertNode({ version }),
      { ...probe('mail'), version },
    ];
    await nodeRed.deploy(flow(1));
    nodeRed.node<ProbeSink>('mail').finish = () => undefined;
    alerts.about('q4')?.happened('fault', 'KEPT', 'over a deploy');
    await waitFor('the first try', () => received().length === 1);
    await nodeRed.deploy(flow(2));
    await waitFor('the second try', () => told().some((text) => String(text).includes('KEPT')));
  });

  it('says that it is wired to nothing, and refuses a kind that does not exist', async () => {
    await nodeRed.deploy([tab(), alertNode({ wires: [[]] }), probe('mail')]);
    await waitFor('the status', () => statuses.some(({ text }) => text === 'not wired'));
    await nodeRed.deploy([tab(), alertNode({ kinds: 'queue,weather' }), probe('mail')]);
    await waitFor('red', () => statuses.at(-1)?.fill === 'red');
  });

  it('O35 tells of late sends with the node that sent', async () => {
    await nodeRed.deploy([
      tab(),
      {
        id: 'hook',
        type: 'ingest-api',
        z: 'tab',
        source: 'late',
        dedupeHours: 0,
        treatLegacyAsDone: true,
        credentials: { token: 't' },
        wires: [['later']],
      },
      functionNode('later', 'setTimeout(() => node.send(msg), 50); return null;', [['end']]),
      probe('end'),
      alertNode({ kinds: 'late' }),
      probe('mail'),
    ]);
    const answer = await fetch(`${nodeRed.url}/api/ingest/late/1`, {
      method: 'POST',
      headers: { authorization: 'Bearer t', 'content-type': 'application/json' },
      body: '{}',
    });
    expect(answer.status).toBe(200);
    await waitFor('the alert', () => received().length === 1);
    expect(received()[0]).toMatchObject({
      payload: expect.stringMatching(/ingest-api "late".*function "later"/) as string,
      alert: { kind: 'late', what: 'later', place: { id: 'hook' } },
    });
  });
});
