import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type Express, type RequestHandler } from 'express';
import { afterEach, describe, expect, it } from 'vitest';
import { HttpFront } from '#lib/node-red/http-front';
import type { NodeRED } from '#lib/node-red/types';
import { post } from '../harness/http';
import { rawClient } from '../harness/raw-http';

interface Setup {
  readonly settings?: Record<string, unknown>;
  readonly nodeRoot?: string;
  /** Sets the root app up as a launcher would, before Node-RED's apps are mounted. */
  readonly before?: (root: Express) => void;
  readonly ready?: boolean;
}

const servers: Server[] = [];
afterEach(() => servers.splice(0).forEach((server) => server.close()));

/** Node-RED's apps as its launcher mounts them: the admin app parses every JSON body before httpNode sees it. */
async function start({ settings = {}, nodeRoot = '/', before, ready = true }: Setup = {}) {
  const root = express();
  before?.(root);
  const admin = express();
  admin.use(express.json());
  const httpNode = express();
  root.use('/', admin);
  root.use(nodeRoot, httpNode);
  const front = new HttpFront({ settings, httpNode } as unknown as NodeRED, () => ready);
  const unmount = front.mount('/api/hooks/orders', (req, res) => {
    const parts: Buffer[] = [];
    req.on('data', (part: Buffer) => parts.push(part));
    req.on('end', () => {
      res.setHeader('x-powered', String(res.getHeader('x-powered-by') ?? 'none'));
      res.end(Buffer.concat(parts));
    });
  });
  const server = createServer(root);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const call = (path = '/api/hooks/orders', headers: Record<string, string> = {}) =>
    post(url + path, '{ "a" : 1.0 }', { headers: { 'content-type': 'application/json', ...headers } });
  return { root, httpNode, front, unmount, call, port };
}

const refuse: RequestHandler = (_req, res) => void res.status(401).end('auth');
const tag: RequestHandler = (_req, res, next) => {
  res.setHeader('x-tag', 'seen');
  next();
};

describe('the HTTP door', () => {
  it('gives the exact bytes although the admin app parses JSON first, and answers ahead of Express', async () => {
    const { call } = await start();
    const answer = await call();
    expect(answer.text).toBe('{ "a" : 1.0 }');
    // Express puts its header on in the first layer that is passed by.
    expect(answer.headers['x-powered']).toBe('none');
  });

  it.each([
    ['the whole URL, as a proxy sends it', 'http://example.org/red/api/hooks/orders', 200],
    ['a query behind it', 'HTTPS://example.org:1880/red/api/hooks/orders?a=/b', 200],
    ['escaped characters that need it not', '/red/api/hooks/%6Frders', 200],
    ['an escaped slash, which is none', '/red/api/hooks%2Forders', 404],
    ['another root', 'http://example.org/api/hooks/orders', 404],
  ])('finds its path in a request target: %s', async (_what, target, status) => {
    for (const settings of [{}, { httpNodeMiddleware: tag }]) {
      const { port } = await start({ nodeRoot: '/red', settings });
      const client = await rawClient(port);
      client.write(`POST ${target} HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}`);
      expect(await client.answers()).toEqual([status]);
      client.destroy();
    }
  });

  it('serves below httpNodeRoot, and only there', async () => {
    const { call, front } = await start({ nodeRoot: '/node' });
    expect((await call('/node/api/hooks/orders')).text).toBe('{ "a" : 1.0 }');
    expect((await call('/api/hooks/orders')).status).toBe(404);
    expect(front.urlOf('/api/hooks/orders')).toBe('/node/api/hooks/orders');
  });

  it('does not pass by authentication that stands in front of httpNode', async () => {
    const { call } = await start({ before: (root) => root.use('/', refuse) });
    expect((await call()).status).toBe(401);
  });

  it('does not pass by middleware on the very path of a hook', async () => {
    const { call } = await start({ before: (root) => root.use('/api/hooks/orders', tag) });
    const answer = await call();
    expect(answer.headers['x-tag']).toBe('seen');
    expect(answer.text).toBe('{ "a" : 1.0 }');
  });

  it('passes by middleware for other paths only', async () => {
    const { call } = await start({ before: (root) => root.use('/admin', refuse) });
    expect((await call()).headers['x-powered']).toBe('none');
  });

  it('runs httpNodeMiddleware, one or a list, before the body is read', async () => {
    const one = await start({ settings: { httpNodeMiddleware: tag } });
    expect((await one.call()).headers['x-tag']).toBe('seen');
    const list = await start({ settings: { httpNodeMiddleware: [tag, refuse] } });
    const answer = await list.call();
    expect([answer.status, answer.headers['x-tag']]).toEqual([401, 'seen']);
  });

  it('applies httpNodeCors', async () => {
    const { call } = await start({ settings: { httpNodeCors: { origin: 'https://shop.example' } } });
    expect((await call()).headers['access-control-allow-origin']).toBe('https://shop.example');
  });

  it('does not pass by middleware on the path of a later hook', async () => {
    const { front, call } = await start({ before: (root) => root.use('/api/hooks/returns', refuse) });
    front.mount('/api/hooks/returns', (_req, res) => void res.end('served'));
    expect((await call('/api/hooks/returns')).text).toBe('auth');
    front.mount('/api/hooks/third', (_req, res) => void res.end('served'));
    expect((await call('/api/hooks/returns')).text).toBe('auth');
    expect((await call('/api/hooks/third')).text).toBe('served');
  });

  it('takes in thousands of paths in no time', async () => {
    const { front, call } = await start();
    const before = process.cpuUsage();
    for (let hook = 0; hook < 5000; hook += 1) {
      front.mount(`/api/hooks/hook${hook}`, (_req, res) => void res.end('served'));
    }
    // Looked at all together with each of them, they would take ten seconds.
    expect(process.cpuUsage(before).user).toBeLessThan(1_000_000);
    expect((await call('/api/hooks/hook4999')).text).toBe('served');
  });

  it('takes its place again when apps were mounted after it', async () => {
    const { root, front, call } = await start();
    root.use(express.json());
    root.use(tag);
    front.refresh();
    expect((await call()).text).toBe('{ "a" : 1.0 }');
  });

  it('says so when another middleware read the body, instead of verifying something else', async () => {
    const readAll: RequestHandler = (req, _res, next) => void req.on('end', next).resume();
    const { call } = await start({ settings: { httpNodeMiddleware: readAll } });
    const answer = await call();
    expect(answer.status).toBe(500);
    expect(answer.json()).toMatchObject({ error: { code: 'ERR_SLUICE_HTTP_RAW_BODY' } });
  });

  it('tells an unknown path to come back while the flow is not running', async () => {
    const { call } = await start({ ready: false });
    expect((await call('/api/hooks/soon')).status).toBe(503);
  });

  it('refuses a second node on a path, until the first is gone', async () => {
    const { front, unmount, call } = await start();
    expect(() => front.mount('/api/hooks/orders', () => undefined)).toThrow(/already serves/);
    unmount();
    expect((await call()).status).toBe(404);
    expect(() => front.mount('/api/hooks/orders', () => undefined)).not.toThrow();
  });

  it('serves nothing where Node-RED serves no HTTP for nodes', () => {
    const front = new HttpFront({ settings: { httpNodeRoot: false } } as unknown as NodeRED, () => true);
    expect(() => front.mount('/api/hooks/x', () => undefined)).toThrow(/httpNodeRoot/);
  });

  it('takes an id behind the path only where its source does', async () => {
    const { front, call } = await start();
    expect((await call('/api/hooks/orders/1')).status).toBe(404);
    front.mount('/api/ingest/orders', (_req, res, tail) => void res.end(`tail ${tail}`), true);
    expect((await call('/api/ingest/orders/1')).text).toBe('tail 1');
    expect((await call('/api/ingest/orders')).text).toBe('tail ');
    expect((await call('/api/ingest/orders/1/2')).status).toBe(404);
  });

  it('leaves the paths to others while no source of ours is there, but for a deploy under way', async () => {
    const { httpNode, unmount, call } = await start();
    httpNode.use('/api/hooks', (_req, res) => void res.end('somebody else'));
    expect((await call('/api/hooks/other')).status).toBe(404);
    unmount();
    expect((await call('/api/hooks/other')).text).toBe('somebody else');
    const booting = await start({ ready: false });
    booting.unmount();
    expect((await booting.call()).status).toBe(503);
  });
});
