import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readBody } from '#lib/api/read-body';
import type { InputError } from '#lib/errors/errors';
import { Quota } from '#lib/quota/quota';

interface Result {
  readonly code: string | undefined;
  readonly body: string;
}

describe('readBody', () => {
  const budget = new Quota(1000);
  const limits = { maxBytes: 500, timeoutMs: 200, budget };
  const requests: ((req: IncomingMessage) => void)[] = [];
  const server = createServer((req) => requests.shift()?.(req));
  beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  /** Sends raw bytes after the head and resolves with what readBody made of them. */
  async function read(head: string, ...parts: string[]) {
    const result = new Promise<Result>((resolve) => {
      requests.push((req) =>
        readBody(req, limits, (error: InputError | undefined, body) =>
          resolve({ code: error?.code, body: body.toString() }),
        ),
      );
    });
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write(`POST / HTTP/1.1\r\nhost: x\r\n${head}\r\n\r\n${parts.join('')}`);
    return { socket, result };
  }

  it('gives the bytes of a body in one piece or many', async () => {
    expect(await (await read('content-length: 5', 'hello')).result).toEqual({
      code: undefined,
      body: 'hello',
    });
    const chunked = await read('transfer-encoding: chunked', '2\r\nhe\r\n', '3\r\nllo\r\n', '0\r\n\r\n');
    expect(await chunked.result).toEqual({ code: undefined, body: 'hello' });
    expect(await (await read('content-length: 0')).result).toEqual({ code: undefined, body: '' });
  });

  it('refuses by content-length before it buffers anything', async () => {
    expect((await (await read('content-length: 501')).result).code).toBe('ERR_SLUICE_BODY_TOO_LARGE');
    expect(budget.used).toBe(0);
  });

  it('NR-05 cuts a stalled sender off and gives its bytes back to the budget', async () => {
    const { result } = await read('content-length: 100', '0123456789');
    expect((await result).code).toBe('ERR_SLUICE_BODY_TIMEOUT');
    expect(budget.used).toBe(0);
  });

  it('tells a sender that left from one that is complete', async () => {
    const { socket, result } = await read('content-length: 100', '0123456789');
    socket.destroy();
    expect((await result).code).toBe('ERR_SLUICE_BODY_INCOMPLETE');
    expect(budget.used).toBe(0);
  });

  it('bounds what all unauthenticated bodies take together', async () => {
    budget.take(800);
    expect((await (await read('content-length: 400', 'x'.repeat(400))).result).code).toBe(
      'ERR_SLUICE_BODY_BUDGET',
    );
    expect(budget.used).toBe(800);
    budget.free(800);
    expect((await (await read('content-length: 400', 'x'.repeat(400))).result).code).toBe(undefined);
    expect(budget.used).toBe(0);
  });
});
