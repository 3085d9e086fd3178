import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AdminRoute } from '#lib/api/admin-route';
import { mountAdminRoutes } from '#lib/node-red/admin-routes';
import { runtimeOf } from '#lib/node-red/runtime';
import { sluice } from '../harness/cli';
import { startNodeRed, type RunningNodeRed } from '../harness/node-red';
import { dlq, deadLettersOf } from '../harness/dead-letters';
import { tab } from '../harness/probe';
import { waitFor } from '../harness/wait';
import { queue } from '../harness/queue';

const SCOPES: Readonly<Record<string, string>> = {
  admin: '*',
  reader: 'read',
  payloads: 'sluice.payload',
  operator: 'sluice.write',
  nobody: 'library.read',
};
const READ_TOKEN = 'a-token-for-the-scraper';

const route = (permission: AdminRoute['permission'], path: string): AdminRoute => ({
  method: permission === 'sluice.write' ? 'post' : 'get',
  path,
  permission,
  summary: 'for the test',
  answer: {},
  handle: ({ allows }) => ({ ok: true, payload: allows('sluice.payload') }),
});

let nodeRed: RunningNodeRed;
beforeAll(async () => {
  nodeRed = await startNodeRed({
    settings: {
      sluice: { readToken: READ_TOKEN },
      adminAuth: {
        type: 'credentials',
        users: (username: string) =>
          Promise.resolve(username in SCOPES ? { username, permissions: SCOPES[username] } : null),
        authenticate: (username: string) =>
          Promise.resolve(username in SCOPES ? { username, permissions: SCOPES[username] } : null),
        // An access token of Node-RED, without the login.
        tokens: (token: string) =>
          Promise.resolve(token in SCOPES ? { username: token, permissions: SCOPES[token] } : null),
      },
    },
  });
  await nodeRed.deploy([tab(), queue('q'), dlq('dlq')]);
  const routes = [
    route('sluice.read', '/test/read'),
    route('sluice.write', '/test/write'),
    route('sluice.payload', '/test/payload'),
  ];
  const settings = { documentPaths: false, publicMetrics: false, readToken: READ_TOKEN };
  mountAdminRoutes(nodeRed.RED, routes, settings, '0');
});
afterAll(() => nodeRed.stop());

const ask = (path: string, token?: string, method = 'GET') =>
  fetch(`${nodeRed.url}/sluice${path}`, {
    method,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
  });
const statusOf = async (...args: Parameters<typeof ask>) => (await ask(...args)).status;

describe('with adminAuth', () => {
  it.each([
    '/api/status',
    '/api/schedules',
    '/api/reach/q',
    '/ops/health',
    '/metrics',
    '/queues',
    '/queues/q/records',
    '/rules',
    '/dlq',
    '/openapi.json',
  ])('%s needs a token with sluice.read', async (path) => {
    expect(await statusOf(path)).toBe(401);
    expect(await statusOf(path, 'nobody')).toBe(401);
    expect(await statusOf(path, 'wrong')).toBe(401);
    expect(await statusOf(path, 'reader')).toBe(200);
    expect(await statusOf(path, 'admin')).toBe(200);
  });

  it('a token that may read can neither write nor see payloads', async () => {
    expect(await statusOf('/test/write', undefined, 'POST')).toBe(401);
    expect(await statusOf('/test/write', 'reader', 'POST')).toBe(401);
    expect(await statusOf('/test/write', 'admin', 'POST')).toBe(200);
    expect(await statusOf('/test/payload', 'reader')).toBe(401);
    expect(await statusOf('/test/payload', 'payloads')).toBe(200);
    expect(await (await ask('/test/read', 'reader')).json()).toEqual({ ok: true, payload: false });
    expect(await (await ask('/test/read', 'admin')).json()).toEqual({ ok: true, payload: true });
    expect(await statusOf('/queues/q/records?payload=true', 'reader')).toBe(401);
  });

  it('readToken opens what only reads, and nothing else', async () => {
    expect(await statusOf('/metrics', READ_TOKEN)).toBe(200);
    expect(await statusOf('/api/status', READ_TOKEN)).toBe(200);
    expect(await statusOf('/metrics', `${READ_TOKEN}x`)).toBe(401);
    expect(await statusOf('/test/write', READ_TOKEN, 'POST')).toBe(401);
    expect(await statusOf('/test/payload', READ_TOKEN)).toBe(401);
    expect(await statusOf('/queues/q/records?payload=true', READ_TOKEN)).toBe(401);
  });

  it('the command line takes a token, by flag or environment, and says when it lacks one', async () => {
    const url = nodeRed.url;
    const refused = await sluice(['status', '--url', url]);
    expect(refused.status).toBe(2);
    expect(refused.stderr).toMatch(/token is missing.*ERR_SLUICE_CLI_REFUSED/);
    expect((await sluice(['health', '--url', url, '--token', READ_TOKEN])).status).toBe(0);
    expect((await sluice(['status'], { SLUICE_URL: url, SLUICE_TOKEN: 'reader' })).status).toBe(0);
  });

  it('R23 recent errors can be cleared by who may write, where flows are read-only; payloads need a permission of their own', async () => {
    const rule = deadLettersOf(nodeRed).room.rules.of('tab');
    const { registry } = runtimeOf(nodeRed.RED);
    await waitFor('the queue to open', () => registry.sinks[0]?.status()['state'] === 'open');
    nodeRed.node('q').receive({ payload: { secret: 1n, fn: () => 1 } });
    await waitFor('the error', () => rule.total === 1);
    const errorsOf = async (token: string) => (await ask('/rules/tab/errors', token)).text();
    expect(await errorsOf('reader')).toContain('ERR_SLUICE_RECORD_UNSERIALISABLE');
    expect(await errorsOf('reader')).not.toContain('secret');
    expect(await errorsOf('admin')).toContain('secret');
    const flows = await fetch(`${nodeRed.url}/flows`, {
      method: 'POST',
      headers: { authorization: 'Bearer operator', 'content-type': 'application/json' },
      body: '[]',
    });
    expect(flows.status).toBe(401);
    expect(await statusOf('/rules/tab/errors', 'reader', 'DELETE')).toBe(401);
    expect(await statusOf('/rules/tab/errors', 'operator', 'DELETE')).toBe(200);
    expect(rule.recent.newest()).toEqual([]);
    expect(await statusOf('/rules/tab/start', 'reader', 'POST')).toBe(401);
    expect(await statusOf('/rules/tab/start', 'operator', 'POST')).toBe(200);
  });
});
