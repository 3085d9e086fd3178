import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startChildNodeRed, type ChildNodeRed } from '../harness/child-node-red';
import { post } from '../harness/http';
import { tab } from '../harness/probe';
import { queue } from '../harness/queue';
import { exchange, rawClient, type RawClient } from '../harness/raw-http';
import { prepareHook } from '../harness/senders';
import { entryOf, readStatus } from '../harness/status';
import { waitFor } from '../harness/wait';
import { callHook, webhook } from '../harness/webhook';

const MB = 2 ** 20;
const TOKEN = 'hostile-test-token';
const BUDGET_MB = 16;

/** Memory that the process has, in bytes. */
function memoryOf({ pid }: ChildNodeRed): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}

describe('hostile requests', () => {
  let child: ChildNodeRed;
  let calls = 0;
  const flows = [
    tab(),
    webhook('w', { toleranceSecs: 86_400, maxBodyKb: 1024, wires: [['hooks']] }),
    webhook('large', { toleranceSecs: 86_400, maxBodyKb: 12 * 1024, wires: [['hooks']] }),
    queue('hooks', { maxQuotaMb: 200 }),
    {
      id: 'api',
      type: 'ingest-api',
      z: 'tab',
      source: 'api',
      credentials: { token: TOKEN },
      wires: [['hooks']],
    },
  ];
  const source = async (id = 'w') => entryOf((await readStatus(child)).sources, id);
  const signed = (body: unknown = {}) => prepareHook('w', `hostile-${(calls += 1)}`, body).wire;
  const ingest = (path: string, body: string, headers: Record<string, string> = {}) =>
    post(`${child.url}/api/ingest/${path}`, body, {
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...headers },
    });

  beforeAll(async () => {
    child = await startChildNodeRed({ flows, settings: { sluice: { bodyBudgetMb: BUDGET_MB } } });
    await waitFor('the first record', async () => (await callHook(child, 'w', {})).status === 200);
  });
  afterEach(async () => {
    expect((await callHook(child, 'w', { still: 'alive' })).status).toBe(200);
    expect(child.log()).not.toMatch(/Uncaught|unhandled/i);
  });
  afterAll(() => child.remove());

  describe('slow ones', () => {
    it('300 senders that stall in their headers or bodies hold nobody up, and leave nothing behind', async () => {
      const clients: RawClient[] = [];
      for (let index = 0; index < 300; index += 1) {
        const client = await rawClient(child.port);
        client.write('POST /api/hooks/w HTTP/1.1\r\nhost: x\r\n');
        if (index % 2 === 0) client.write('content-length: 100000\r\n\r\n{');
        clients.push(client);
      }
      for (const client of clients) client.write('x');
      const { interrupted: before } = await source();
      expect((await callHook(child, 'w', {})).status).toBe(200);
      for (const client of clients) client.destroy();
      await waitFor('the broken bodies to be counted', async () => {
        return Number((await source())['interrupted']) === Number(before) + 150;
      });
      expect(await source()).toMatchObject({ in_flight: 0 });
    });

    it('bodies in chunks of one byte take no more memory than their bytes', async () => {
      const chunk = Buffer.from('1\r\nx\r\n');
      const oneByteChunks = Buffer.concat(Array.from({ length: 200_000 }, () => chunk));
      const before = memoryOf(child);
      const clients = await Promise.all(Array.from({ length: 30 }, () => rawClient(child.port)));
      const written = clients.map(
        ({ socket }) =>
          new Promise<void>((resolve) => {
            socket.write('POST /api/hooks/w HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n');
            socket.write(oneByteChunks, () => resolve());
          }),
      );
      await Promise.all(written);
      // They are all in there: a request after them is answered.
      expect((await callHook(child, 'w', {})).status).toBe(200);
      const grown = memoryOf(child) - before;
      for (const client of clients) client.destroy();
      // As a list of pieces it would be 30 x 200,000 x 250 bytes: 1.5 GB.
      expect(grown).toBeLessThan(250 * MB);
    });

    it('1,000 uploads at once stay within the body budget: the others are told to come back', async () => {
      const { interrupted: before } = await source('large');
      const memory = memoryOf(child);
      const piece = Buffer.alloc(64 * 1024, 0x20);
      const clients: RawClient[] = [];
      for (let index = 0; index < 1000; index += 1) {
        const client = await rawClient(child.port);
        client.write('POST /api/hooks/large HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n');
        client.write(piece);
        clients.push(client);
      }
      await waitFor('refusals', async () => {
        return Number((await source('large'))['interrupted']) > Number(before) + 500;
      });
      expect(memoryOf(child) - memory).toBeLessThan(300 * MB);
      const refused = clients.filter((client) => client.statuses().length > 0);
      for (const client of refused) expect(client.statuses()).toEqual([503]);
      for (const client of clients) client.destroy();
      // The room of those that left is given back.
      await waitFor('room for a body again', async () => {
        return (await callHook(child, 'large', { filler: 'x'.repeat(2 * MB) })).status === 200;
      });
    });
  });

  it('10,000 requests without a valid signature are all refused, and cost no memory', async () => {
    const memory = memoryOf(child);
    const request = 'POST /api/hooks/w HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}';
    const clients = await Promise.all(Array.from({ length: 20 }, () => rawClient(child.port)));
    const each = 500;
    for (const client of clients) client.write(request.repeat(each));
    const answers = await Promise.all(clients.map((client) => client.answers(each)));
    expect(answers.flat()).toHaveLength(clients.length * each);
    expect(new Set(answers.flat())).toEqual(new Set([401]));
    expect(memoryOf(child) - memory).toBeLessThan(150 * MB);
    for (const client of clients) client.destroy();
  });

  it('pipelined requests on one connection are each answered, in order', async () => {
    const client = await rawClient(child.port);
    const bad = 'POST /api/hooks/w HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}';
    client.write(Buffer.concat([signed(), Buffer.from(bad), signed(), Buffer.from(bad), signed()]));
    expect(await client.answers(5)).toEqual([200, 401, 200, 401, 200]);
    client.destroy();
  });

  it('an upload that is broken off is not accepted', async () => {
    const { accepted, interrupted } = await source();
    const whole = signed({ filler: 'x'.repeat(5000) });
    for (const cut of [whole.length - 1, whole.length - 4000]) {
      const client = await rawClient(child.port);
      client.write(whole.subarray(0, cut));
      client.socket.end();
      await waitFor('the end', () => client.closed());
    }
    await waitFor('both to be counted', async () => {
      return Number((await source())['interrupted']) === Number(interrupted) + 2;
    });
    expect(await source()).toMatchObject({ accepted });
  });

  it('a sender that waits for 100 Continue gets it, and its answer', async () => {
    const client = await rawClient(child.port);
    const wire = signed({ asked: 'first' }).toString('latin1');
    const bodyAt = wire.indexOf('\r\n\r\n') + 4;
    client.write(`${wire.slice(0, bodyAt - 2)}expect: 100-continue\r\n\r\n`);
    expect(await client.answers(1)).toEqual([100]);
    client.write(wire.slice(bodyAt));
    expect(await client.answers(2)).toEqual([100, 200]);
    client.destroy();
  });

  describe('malformed ones', () => {
    const head = 'POST /api/hooks/w HTTP/1.1\r\nhost: x\r\n';

    it.each([
      ['both a length and chunks', `${head}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
      ['two lengths', `${head}content-length: 5\r\ncontent-length: 6\r\n\r\nhello`],
      ['a chunk size that is none', `${head}transfer-encoding: chunked\r\n\r\nxyz\r\n`],
      ['headers beyond the limit', `${head}x-filler: ${'x'.repeat(40_000)}\r\n\r\n`],
      ['3,000 headers', `${head}${'x-a: 1\r\n'.repeat(3000)}\r\n`],
      ['a NUL byte in a header', `${head}x-a: \0\r\n\r\n`],
      ['no HTTP at all', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ])('%s end in 4xx or a closed connection', async (_, bytes) => {
      const status = await exchange(child.port, bytes);
      expect(status === 0 || (status >= 400 && status < 500)).toBe(true);
    });

    it('an id that is sent twice is refused: it is open which of them was signed', async () => {
      const wire = signed().toString('latin1');
      expect(await exchange(child.port, wire.replace('\r\n', '\r\nwebhook-id: other\r\n'))).toBe(401);
    });
  });

  describe('paths and methods', () => {
    const send = (path: string, method = 'POST') =>
      exchange(child.port, `${method} ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n`);

    it.each([
      ['//api//hooks/w', 404],
      ['/api/hooks//w', 404],
      ['/api/hooks/w/more', 404],
      ['/api/hooks/W', 404],
      ['/API/hooks/w', 404],
      ['/api/hooks/%77', 401],
      ['/api/hooks/w%2f..', 404],
      ['/api/hooks/../hooks/w', 404],
      ['/api/hooks/', 404],
      ['/api/hooks/constructor', 404],
      ['/api/hooks/__proto__', 404],
      ['/api/hooks/w/', 401],
      ['/api/hooks/w?a=1&a=2&__proto__=x', 401],
    ])('%s is %i', async (path, status) => {
      expect(await send(path)).toBe(status);
    });

    it.each(['HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH', 'TRACE'])('%s is 405', async (method) => {
      expect(await send('/api/hooks/w', method)).toBe(405);
    });
  });

  describe('ids and keys of an ingest source', () => {
    it('a missing id is 404: records without one would be taken for repeats of each other', async () => {
      for (const path of ['api', 'api/']) expect((await ingest(path, '{}')).status).toBe(404);
      expect((await ingest('api', '{}', { 'idempotency-key': 'k1' })).json()).toMatchObject({ id: 'k1' });
      expect(await source('api')).toMatchObject({ accepted: 1, malformed: 2 });
    });

    it.each([
      ['of 10 KB', 'x'.repeat(10_000)],
      ['in percent-encoded UTF-8', encodeURIComponent('bestellung-äöü-注文-🛒')],
      ['with an encoded slash and NUL', 'a%2Fb%00c'],
      ['named __proto__', '__proto__'],
    ])('an id %s is taken, and its repeat is one', async (_, id) => {
      const before = Number((await source('api'))['duplicates']);
      for (let time = 0; time < 2; time += 1) {
        expect((await ingest(`api/${id}`, '{"a":1}')).json()).toEqual({ ok: true, result: 'done', id });
      }
      expect((await ingest(`api/${id}`, '{"a":2}')).status).toBe(422);
      expect(Number((await source('api'))['duplicates'])).toBe(before + 1);
    });

    it('an Idempotency-Key of 10 KB is taken, one that exceeds the headers is 431', async () => {
      expect((await ingest('api/x', '{}', { 'idempotency-key': 'k'.repeat(10_000) })).status).toBe(200);
      expect((await ingest('api/x', '{}', { 'idempotency-key': 'k'.repeat(20_000) })).status).toBe(431);
    });

    it('a path beyond the limit of headers is 431', async () => {
      expect((await ingest(`api/${'x'.repeat(20_000)}`, '{}')).status).toBe(431);
    });
  });

  describe('bodies', () => {
    it.each([
      ['not JSON', '{"a":', 422],
      ['empty', '', 422],
      ['not UTF-8', Buffer.from([0x22, 0xff, 0xfe, 0x22]), 422],
      ['UTF-16', Buffer.from('{"a":1}', 'utf16le'), 422],
      ['nested in 512 levels', '['.repeat(512) + ']'.repeat(512), 200],
      ['nested in 513 levels', '['.repeat(513) + ']'.repeat(513), 422],
      ['nested in 500,000 levels', '['.repeat(500_000), 422],
      ['a number beyond all bounds', '1e999999', 200],
    ])('%s', async (_, body, status) => {
      expect((await callHook(child, 'w', body)).status).toBe(status);
    });

    it('a compressed one is 415', async () => {
      const answer = await callHook(child, 'w', Buffer.from([0x1f, 0x8b, 8]), {
        headers: { 'content-encoding': 'gzip' },
      });
      expect(answer.status).toBe(415);
    });

    it('one of 10 MB is refused with an answer that its sender gets to read', async () => {
      for (const connection of ['close', 'keep-alive']) {
        const client = await rawClient(child.port);
        client.write(
          `POST /api/hooks/w HTTP/1.1\r\nhost: x\r\nconnection: ${connection}\r\ncontent-length: ${10 * MB}\r\n\r\n`,
        );
        await new Promise<void>((resolve, reject) => {
          client.socket.once('error', reject);
          client.socket.write(Buffer.alloc(10 * MB, 0x20), () => resolve());
        });
        expect(await client.answers()).toEqual([413]);
        expect(client.received()).toContain('too_large');
        if (connection === 'close') await waitFor('the end', () => client.closed());
        else {
          client.write(signed({ after: 'the refusal' }));
          expect(await client.answers(2)).toEqual([413, 200]);
        }
        client.destroy();
      }
    });

    it('one of 10 MB is taken where maxBodyKb allows it, and is 413 where it does not', async () => {
      const body = { filler: 'x'.repeat(10 * MB) };
      expect((await callHook(child, 'large', body)).status).toBe(200);
      expect((await callHook(child, 'w', body)).status).toBe(413);
    });
  });
});
