import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface TcpProxy {
  readonly port: number;
  /**
   * Cuts the connection once `sent` has come from the client and the server has answered it: the server has done what it
   * was asked, and the client never hears of it. Once.
   */
  cutAfter(sent: string): void;
  /** How often it has cut a connection. */
  readonly cuts: number;
  close(): Promise<void>;
}

/** A proxy on a free loopback port in front of another one there. */
export async function startTcpProxy(target: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let awaited: string | undefined;
  let cuts = 0;
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    let isAwaited = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
      socket.on('error', () => undefined);
    }
    const cut = () => {
      client.destroy();
      upstream.destroy();
    };
    client.on('data', (piece) => {
      if (awaited !== undefined && piece.includes(awaited)) {
        awaited = undefined;
        isAwaited = true;
      }
      upstream.write(piece);
    });
    upstream.on('data', (piece) => {
      if (!isAwaited) return void client.write(piece);
      cuts += 1;
      cut();
    });
    client.on('close', cut);
    upstream.on('close', cut);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    cutAfter: (sent) => void (awaited = sent),
    get cuts() {
      return cuts;
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
