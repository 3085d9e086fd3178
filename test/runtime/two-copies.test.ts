import { createRequire } from 'node:module';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { NodeRED } from '#lib/node-red/types';
import { startDestination, type Destination } from '../harness/destination';
import { startNodeRed, type FlowNode, type RunningNodeRed } from '../harness/node-red';
import { installCopy } from '../harness/package-copy';
import { tab } from '../harness/probe';
import { queue } from '../harness/queue';
import { readStatus } from '../harness/status';
import { waitFor } from '../harness/wait';
import { callHook, webhook } from '../harness/webhook';

type RuntimeModule = { runtimeOf(RED: NodeRED): unknown };

describe('O1 two copies of the package in one runtime', () => {
  let userDir: string;
  let folders: string[];
  let nodeRed: RunningNodeRed;
  let destination: Destination;
  const addedHooks: string[] = [];

  beforeAll(async () => {
    userDir = await mkdtemp(join(tmpdir(), 'sluice-copies-'));
    folders = [
      await installCopy(userDir, 'sluice-one', ['signed-webhook', 'push-queue']),
      await installCopy(userDir, 'sluice-two', ['rest-sink', 'ingest-api']),
    ];
    const dependencies = { 'sluice-one': '*', 'sluice-two': '*' };
    await writeFile(join(userDir, 'package.json'), JSON.stringify({ name: 'two-copies', dependencies }));
    destination = await startDestination();
    nodeRed = await startNodeRed({ userDir });
    const { hooks } = nodeRed.RED;
    const add = hooks.add.bind(hooks) as (id: string, hook: unknown) => void;
    Object.assign(hooks, {
      add(id: string, hook: unknown) {
        addedHooks.push(id);
        add(id, hook);
      },
    });
    const sink: FlowNode = { id: 'sink', type: 'rest-sink', z: 'tab', url: destination.url, wires: [[]] };
    await nodeRed.deploy([
      tab(),
      webhook('w', { wires: [['sink']] }),
      {
        ...{ id: 'api', type: 'ingest-api', z: 'tab', source: 'api', credentials: { token: 'token' } },
        wires: [['q']],
      },
      queue('q', { wires: [['sink'], []] }),
      sink,
    ]);
    await waitFor('the queue to be open', async () =>
      (await readStatus(nodeRed)).sinks.every(({ state }) => state !== 'opening'),
    );
  });
  afterAll(async () => {
    await nodeRed.stop();
    await destination.close();
    await rm(userDir, { recursive: true, force: true });
  });

  it('are two copies, and share one runtime', () => {
    const modules = folders.map((folder) => {
      const require = createRequire(join(folder, 'package.json'));
      return require(join(folder, 'dist/lib/node-red/runtime.js')) as RuntimeModule;
    });
    expect(modules[0]).not.toBe(modules[1]);
    expect(modules[0]?.runtimeOf(nodeRed.RED)).toBe(modules[1]?.runtimeOf(nodeRed.RED));
  });

  it('install the hooks once, and give verdicts across them', async () => {
    destination.answer(() => ({ status: 200 }));
    expect((await callHook(nodeRed, 'w', { n: 1 })).status).toBe(200);
    const labels = new Set(addedHooks.map((id) => id.slice(id.indexOf('.') + 1)));
    expect(labels.size).toBe(1);
    expect(addedHooks.toSorted()).toEqual([...new Set(addedHooks)].toSorted());
  });

  it('understand the errors of each other: class, wait and code', async () => {
    destination.answer(() => ({ status: 503, headers: { 'retry-after': '1' } }));
    const later = await callHook(nodeRed, 'w', { n: 2 });
    expect([later.status, later.headers['retry-after']]).toEqual([503, '1']);
    destination.answer(() => ({ status: 422 }));
    expect((await callHook(nodeRed, 'w', { n: 3 })).status).toBe(422);
  });

  it('know the sinks of each other at the door, and deliver through both', async () => {
    destination.answer(() => ({ status: 200 }));
    const reach = await (await fetch(`${nodeRed.url}/sluice/api/reach/api`)).json();
    expect(reach).toMatchObject({ sinks: ['q'] });
    const before = destination.requests.length;
    const headers = { authorization: 'Bearer token', 'content-type': 'application/json' };
    const url = `${nodeRed.url}/api/ingest/api/1`;
    expect((await fetch(url, { method: 'POST', body: '{}', headers })).status).toBe(200);
    await waitFor('the delivery', () => destination.requests.length === before + 1);
    const { sinks, sources } = await readStatus(nodeRed);
    expect([...sinks, ...sources].map(({ id }) => id).toSorted()).toEqual(['api', 'q', 'q', 'sink', 'w']);
  });
});
