import { createServer, type AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { gate, startDestination, type Destination } from '../harness/destination';
import { makeCertificates } from '../harness/destination-certificates';
import { startProxy, type Proxy } from '../harness/destination-proxy';
import { closeSinks, makeSink, record } from './rest-sink.harness';

let destination: Destination;
beforeEach(async () => {
  destination = await startDestination();
});
afterEach(async () => {
  await closeSinks();
  await destination.close();
});

describe('a request', () => {
  it('N1 carries the body as encoded, its type and the delivery id as Idempotency-Key', async () => {
    destination.answer(() => ({ status: 201, headers: { 'x-id': '7' }, body: '{"ok":true}' }));
    const { sink } = makeSink({ url: `${destination.url}/in?x=1`, method: 'PUT', headers: 'X-Team: ops' });
    const answer = await sink.deliver(record({ n: 1 }, 'delivery-1'));
    expect(answer).toMatchObject({ statusCode: 201, body: '{"ok":true}', headers: { 'x-id': '7' } });
    expect(destination.requests[0]).toMatchObject({ method: 'PUT', url: '/in?x=1', text: '{"n":1}' });
    expect(destination.requests[0]!.headers).toMatchObject({
      'content-type': 'application/json',
      'idempotency-key': 'delivery-1',
      'x-team': 'ops',
    });
  });

  it('keeps a content type that the headers set', async () => {
    const { sink } = makeSink({ url: destination.url, headers: 'Content-Type: application/vnd.acme+json' });
    await sink.deliver(record({ n: 1 }));
    expect(destination.requests[0]!.headers['content-type']).toBe('application/vnd.acme+json');
  });

  it('does not follow redirects', async () => {
    destination.answer(() => ({ status: 307, headers: { location: `${destination.url}/elsewhere` } }));
    const { sink } = makeSink({ url: destination.url });
    await expect(sink.deliver(record(1))).rejects.toMatchObject({
      code: 'ERR_SLUICE_REST_REDIRECTED',
      failure: 'config',
    });
    expect(destination.requests).toHaveLength(1);
  });
});

describe('a broken exchange', () => {
  it.each(['before', 'midway'] as const)(
    'is transient when the connection is cut %s the answer',
    async (cut) => {
      destination.answer(() => ({ cut, body: 'x'.repeat(2000) }));
      const { sink } = makeSink({ url: destination.url });
      await expect(sink.deliver(record(1))).rejects.toMatchObject({
        code: 'ERR_SLUICE_REST_UNREACHABLE',
        failure: 'transient',
      });
    },
  );

  it('is transient when nothing listens, and names the origin but not the path', async () => {
    const { port } = destination;
    await destination.close();
    const { sink } = makeSink({ url: `http://localhost:${port}/secret-token` });
    const error: unknown = await sink.deliver(record(1)).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'ERR_SLUICE_REST_UNREACHABLE', failure: 'transient' });
    expect(String(error)).toContain(`http://localhost:${port}`);
    expect(String(error)).not.toContain('secret-token');
    destination = await startDestination();
  });

  it('is transient when the answer is not HTTP', async () => {
    const server = createServer((socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n')).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { sink } = makeSink({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
    await expect(sink.deliver(record(1))).rejects.toMatchObject({ failure: 'transient' });
    server.close();
  });

  it('is a transient timeout when no answer comes in time', async () => {
    const { opened, open } = gate();
    destination.answer(() => ({ after: opened }));
    const { sink } = makeSink({ url: destination.url, timeoutMs: 50 });
    await expect(sink.deliver(record(1))).rejects.toMatchObject({
      code: 'ERR_SLUICE_REST_TIMEOUT',
      failure: 'transient',
    });
    open();
  });

  it('cuts an answer at the limit and takes its status all the same', async () => {
    destination.answer(() => ({ body: 'é'.repeat(200_000) }));
    const { sink } = makeSink({ url: destination.url, maxResponseKb: 1 });
    const answer = await sink.deliver(record(1));
    expect(answer.statusCode).toBe(200);
    expect(answer.body).toBe('é'.repeat(512));
    await expect(sink.deliver(record(2))).resolves.toMatchObject({ statusCode: 200 });
  });
});

describe('TLS', () => {
  const { ca, server, client } = makeCertificates();
  let secure: Destination;
  afterEach(() => secure.close());

  it('keeps the record while the certificate is not trusted', async () => {
    secure = await startDestination({ tls: server });
    const { sink } = makeSink({ url: secure.url });
    await expect(sink.deliver(record(1))).rejects.toMatchObject({
      code: 'ERR_SLUICE_REST_TLS',
      failure: 'config',
    });
  });

  it('delivers to a server of a private CA, and to any when verification is off', async () => {
    secure = await startDestination({ tls: server });
    const trusting = makeSink({ url: secure.url }, { tls: { ca, rejectUnauthorized: true } });
    const careless = makeSink({ url: secure.url }, { tls: { rejectUnauthorized: false } });
    await expect(trusting.sink.deliver(record(1))).resolves.toMatchObject({ statusCode: 200 });
    await expect(careless.sink.deliver(record(2))).resolves.toMatchObject({ statusCode: 200 });
  });

  it('presents a client certificate, and keeps the record where one is missing', async () => {
    secure = await startDestination({ tls: { ...server, ca, requestCert: true, rejectUnauthorized: true } });
    const known = makeSink({ url: secure.url }, { tls: { ca, ...client } });
    await expect(known.sink.deliver(record(1))).resolves.toMatchObject({ statusCode: 200 });
    const unknown = makeSink({ url: secure.url }, { tls: { ca } });
    await expect(unknown.sink.deliver(record(2))).rejects.toMatchObject({ failure: 'transient' });
  });

  it('keeps the record when the server speaks no TLS', async () => {
    secure = await startDestination();
    const { sink } = makeSink({ url: secure.url.replace('http:', 'https:') });
    await expect(sink.deliver(record(1))).rejects.toMatchObject({
      code: 'ERR_SLUICE_REST_TLS',
      failure: 'config',
    });
  });
});

describe('a proxy', () => {
  let proxy: Proxy;
  afterEach(() => proxy.close());
  const through = (url: string, noProxy = '') => ({ proxy: { httpProxy: url, httpsProxy: url, noProxy } });

  it('forwards plain HTTP without a tunnel', async () => {
    proxy = await startProxy();
    const { sink } = makeSink({ url: `${destination.url}/in` }, through(proxy.url));
    await sink.deliver(record({ n: 1 }));
    expect(destination.requests[0]).toMatchObject({ url: '/in', text: '{"n":1}' });
    expect(proxy.seen).toEqual([`POST ${destination.url}/in`]);
  });

  it('tunnels HTTPS, and the destination still proves itself', async () => {
    proxy = await startProxy();
    const { ca, server } = makeCertificates();
    const secure = await startDestination({ tls: server });
    const trusting = makeSink({ url: secure.url }, { ...through(proxy.url), tls: { ca } });
    await expect(trusting.sink.deliver(record(1))).resolves.toMatchObject({ statusCode: 200 });
    expect(proxy.seen).toEqual([`CONNECT localhost:${secure.port}`]);
    const doubting = makeSink({ url: secure.url }, through(proxy.url));
    await expect(doubting.sink.deliver(record(2))).rejects.toMatchObject({ code: 'ERR_SLUICE_REST_TLS' });
    await closeSinks();
    await secure.close();
  });

  it.each(['http', 'https'])(
    'keeps the record when the proxy wants a login (%s), and logs in',
    async (scheme) => {
      proxy = await startProxy('me:secret');
      const { ca, server } = makeCertificates();
      const target = await startDestination(scheme === 'https' ? { tls: server } : {});
      const stranger = makeSink({ url: target.url }, { ...through(proxy.url), tls: { ca } });
      await expect(stranger.sink.deliver(record(1))).rejects.toMatchObject({
        code: 'ERR_SLUICE_REST_UNAUTHORIZED',
        failure: 'config',
      });
      const known = makeSink(
        { url: target.url },
        { ...through(proxy.url.replace('//', '//me:secret@')), tls: { ca } },
      );
      await expect(known.sink.deliver(record(2))).resolves.toMatchObject({ statusCode: 200 });
      expect(target.requests).toHaveLength(1);
      await closeSinks();
      await target.close();
    },
  );

  it('is left aside for the hosts listed', async () => {
    proxy = await startProxy();
    const { sink } = makeSink({ url: destination.url }, through(proxy.url, 'localhost'));
    await sink.deliver(record(1));
    expect(proxy.seen).toEqual([]);
    expect(destination.requests).toHaveLength(1);
  });
});
