import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasDashboard, installDashboard, openDashboard, type DashboardClient } from '../harness/dashboard';
import { makeUserDir, startNodeRed, type RunningNodeRed } from '../harness/node-red';
import { waitFor } from '../harness/wait';
import { DASHBOARD_EXAMPLE, readExample } from './example-flows';

describe.skipIf(!hasDashboard())('the example for FlowFuse Dashboard', () => {
  const nodes = readExample(DASHBOARD_EXAMPLE);
  const idOf = (type: string, title?: string) =>
    nodes.find((node) => node.type === type && (title === undefined || node['title'] === title))?.id ?? '';
  let nodeRed: RunningNodeRed;
  let page: DashboardClient;

  beforeAll(async () => {
    const userDir = await makeUserDir();
    await installDashboard(userDir);
    nodeRed = await startNodeRed({ userDir });
    await nodeRed.deploy(
      nodes.map((node) => (node.type === 'delivery-status' ? { ...node, intervalSecs: 1 } : node)),
    );
    page = await openDashboard(nodeRed.url);
  }, 60_000);
  afterAll(async () => {
    await page?.close();
    await nodeRed?.stop();
  });
  const payloads = (type: string, title?: string) =>
    page.inputs(idOf(type, title)).map((message) => (message as { payload: unknown }).payload);

  it('deploys, each of its nodes live, and has its page', async () => {
    for (const { id, type } of nodes.filter((node) => node.type !== 'tab')) {
      expect(nodeRed.RED.nodes.getNode(id), type).not.toBeNull();
    }
    const answer = await fetch(`${nodeRed.url}/dashboard/queues`);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      expect.stringContaining('text/html'),
    ]);
  });

  it('shows levels, sinks and alerts on the page, as records fill the queue', async () => {
    const row = { name: 'push', type: 'push-queue', level: 'ok', waiting: 0, dropped: 0 };
    await waitFor('an empty queue in the table', () => payloads('ui-table').length > 0);
    expect(payloads('ui-table')[0]).toEqual([expect.objectContaining(row)]);
    const press = () => nodeRed.node(idOf('inject')).receive({});
    const level = () => Number(payloads('ui-gauge', 'fullest queue').at(-1));
    for (let presses = 0; presses < 12; presses += 1) press();
    await waitFor('the level in the gauge', () => level() > 50);
    expect(level()).toBeLessThan(80);
    await waitFor('the records in the table', () =>
      (payloads('ui-table').at(-1) as { waiting: number }[]).some(({ waiting }) => waiting === 12),
    );
    const points = () => page.inputs(idOf('ui-chart')) as { topic: string; payload: number }[];
    await waitFor('the level in the chart', () =>
      points().some(({ topic, payload }) => topic === 'dashboard-example' && payload > 50),
    );
    expect(payloads('ui-gauge', 'alerts').at(-1)).toBe(0);
    for (let presses = 0; presses < 12; presses += 1) press();
    await waitFor('an alert', () => Number(payloads('ui-gauge', 'alerts').at(-1)) > 0, 20_000);
  }, 60_000);
});
