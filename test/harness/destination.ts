import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';

/** A request as the destination saw it. */
export interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
  /** Unix ms of its last byte. */
  readonly at: number;
}

/** What the destination does with a request. */
export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Answers once this has resolved. */
  readonly after?: Promise<unknown>;
  /** Cuts the connection instead: without a byte, or in the middle of the answer's body. */
  readonly cut?: 'before' | 'midway';
}

export interface Destination {
  readonly url: string;
  readonly port: number;
  /** In the order in which they were complete. */
  readonly requests: readonly ReceivedRequest[];
  /** Most requests that were open at the same time. */
  readonly peak: number;
  /** From now on replies are made by `reply`; the default is 200. */
  answer(reply: (request: ReceivedRequest) => Reply): void;
  /** Stops listening and cuts all connections. */
  close(): Promise<void>;
}

async function receive(req: IncomingMessage): Promise<ReceivedRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of req as AsyncIterable<Buffer>) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const { method = '', url = '', headers } = req;
  return { method, url, headers, body, text: body.toString('utf8'), at: Date.now() };
}

async function perform(reply: Reply, res: ServerResponse): Promise<void> {
  await reply.after;
  if (reply.cut === 'before') return void res.socket?.destroy();
  const body = Buffer.from(reply.body ?? '{}');
  res.writeHead(reply.status ?? 200, { ...reply.headers, 'content-length': String(body.length) });
  if (reply.cut !== 'midway') return void res.end(body);
  res.write(body.subarray(0, body.length >> 1), () => res.socket?.destroy());
}

/** An HTTP destination on a free loopback port that answers as it is told; HTTPS when given `tls`. */
export async function startDestination(
  options: { readonly tls?: ServerOptions; readonly port?: number } = {},
): Promise<Destination> {
  const requests: ReceivedRequest[] = [];
  let reply: (request: ReceivedRequest) => Reply = () => ({});
  let open = 0;
  let peak = 0;

  const handle = (req: IncomingMessage, res: ServerResponse) => {
    open += 1;
    peak = Math.max(peak, open);
    res.on('close', () => (open -= 1));
    void receive(req).then(
      (request) => {
        requests.push(request);
        return perform(reply(request), res);
      },
      () => res.destroy(),
    );
  };
  const server = options.tls ? createTlsServer(options.tls, handle) : createServer(handle);
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  return {
    url: `${options.tls ? 'https' : 'http'}://localhost:${port}`,
    port,
    requests,
    get peak() {
      return peak;
    },
    answer: (next) => (reply = next),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** A promise to hold replies back with, and its release. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}
