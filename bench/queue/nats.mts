import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Appender } from './load.mjs';
import { findBinary, open, startServer, writer } from './server.mjs';

/** NATS JetStream on file storage: each publish is acknowledged, though not after an fsync before 2.10. */
export async function nats(dir: string): Promise<Appender | undefined> {
  const binary = findBinary('nats-server');
  if (binary === undefined) return undefined;
  const config = join(dir, 'nats.conf');
  await writeFile(config, `jetstream { store_dir: "${dir}" }\n`);
  const server = await startServer(binary, (port) => ['-a', '127.0.0.1', '-p', String(port), '-c', config]);
  const socket = await open(server.port);
  const write = writer(socket);
  const waiting = new Map<number, () => void>();
  let next = 0;
  let rest = '';
  socket.on('data', (data: Buffer) => {
    const text = rest + data.toString('latin1');
    let at = 0;
    for (;;) {
      const end = text.indexOf('\r\n', at);
      if (end < 0) break;
      const line = text.slice(at, end);
      if (!line.startsWith('MSG ')) {
        if (line === 'PING') write('PONG\r\n');
        at = end + 2;
        continue;
      }
      const [, subject = '', , bytes = ''] = line.split(' ');
      const after = end + 2 + Number(bytes) + 2;
      if (after > text.length) break;
      const id = Number(subject.slice(2));
      waiting.get(id)?.();
      waiting.delete(id);
      at = after;
    }
    rest = text.slice(at);
  });
  const publish = (subject: string, payload: Buffer) =>
    new Promise<void>((resolve) => {
      const id = next++;
      waiting.set(id, resolve);
      write(`PUB ${subject} i.${id} ${payload.length}\r\n`, payload, '\r\n');
    });
  write('CONNECT {"verbose":false}\r\nSUB i.* 1\r\n');
  const stream = { name: 'q', subjects: ['q'], storage: 'file', retention: 'workqueue' };
  await publish('$JS.API.STREAM.CREATE.q', Buffer.from(JSON.stringify(stream)));
  return {
    append: (record) => publish('q', record),
    async close() {
      socket.destroy();
      await server.stop();
    },
  };
}
