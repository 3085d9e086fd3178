import { createServer, request as httpRequest } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';

export interface Proxy {
  readonly url: string;
  /** What passed: `CONNECT host:port` for tunnels, `METHOD url` for forwarded requests. */
  readonly seen: readonly string[];
  close(): Promise<void>;
}

/** An HTTP proxy on a free loopback port, forwarding and tunnelling; with `login` (`user:password`) it insists on it. */
export async function startProxy(login?: string): Promise<Proxy> {
  const seen: string[] = [];
  const sockets = new Set<Socket>();
  const expected = login === undefined ? undefined : `Basic ${Buffer.from(login).toString('base64')}`;
  const isAllowed = (given: string | undefined) => expected === undefined || given === expected;

  const server = createServer((req, res) => {
    if (!isAllowed(req.headers['proxy-authorization'])) return void res.writeHead(407).end();
    seen.push(`${req.method} ${req.url}`);
    const { 'proxy-authorization': _, ...headers } = req.headers;
    const forward = httpRequest(req.url ?? '', { method: req.method, headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(res);
    });
    forward.on('error', () => res.writeHead(502).end());
    req.pipe(forward);
  });
  server.on('connect', (req, client: Socket) => {
    if (!isAllowed(req.headers['proxy-authorization'])) {
      return void client.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    }
    seen.push(`CONNECT ${req.url}`);
    const [host = '', port = ''] = (req.url ?? '').split(':');
    const target = connect(Number(port), host, () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      target.pipe(client).pipe(target);
    });
    for (const socket of [client, target]) {
      sockets.add(socket);
      socket.on('error', () => {
        client.destroy();
        target.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
