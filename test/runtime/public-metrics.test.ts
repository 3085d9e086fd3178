import { afterAll, beforeAll, expect, it } from 'vitest';
import { startNodeRed, type RunningNodeRed } from '../harness/node-red';

let nodeRed: RunningNodeRed;
beforeAll(async () => {
  nodeRed = await startNodeRed({
    settings: {
      httpAdminRoot: '/admin',
      httpNodeRoot: '/flows',
      sluice: { publicMetrics: true, readToken: 'for-the-scraper', documentPaths: true },
    },
  });
});
afterAll(() => nodeRed.stop());

const statusOf = async (path: string, token?: string) =>
  (await fetch(nodeRed.url + path, { headers: token ? { authorization: `Bearer ${token}` } : {} })).status;

it('publicMetrics serves metrics and health beside the webhooks instead, with the readToken where one is set', async () => {
  for (const path of ['/metrics', '/ops/health', '/sluice/metrics', '/sluice/ops/health']) {
    expect(await statusOf(`/flows${path}`), path).toBe(401);
    expect(await statusOf(`/flows${path}`, 'for-the-scraper'), path).toBe(200);
    expect(await statusOf(`/admin${path}`), path).toBe(404);
  }
  expect(await statusOf('/admin/sluice/api/status')).toBe(200);
  expect(await statusOf('/flows/sluice/api/status')).toBe(404);
});
