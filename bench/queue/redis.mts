import type { Appender } from './load.mjs';
import { findBinary, open, startServer, writer } from './server.mjs';

/** Redis, appendfsync always: XADD, pipelined. */
export async function redis(dir: string): Promise<Appender | undefined> {
  const binary = findBinary('redis-server');
  if (binary === undefined) return undefined;
  const server = await startServer(binary, (port) => [
    ...['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, '--save', ''],
    ...['--appendonly', 'yes', '--appendfsync', 'always'],
  ]);
  const socket = await open(server.port);
  const write = writer(socket);
  const waiting: (() => void)[] = [];
  let ends = 0;
  socket.on('data', (data: Buffer) => {
    // Each answer is a length and an id, a line each.
    for (const byte of data) if (byte === 10 && ++ends % 2 === 0) waiting.shift()?.();
  });
  return {
    append: (record) =>
      new Promise<void>((resolve) => {
        waiting.push(resolve);
        write(`*5\r\n$4\r\nXADD\r\n$1\r\nq\r\n$1\r\n*\r\n$1\r\nb\r\n$${record.length}\r\n`, record, '\r\n');
      }),
    async close() {
      socket.destroy();
      await server.stop();
    },
  };
}
