import { connect, type Socket } from 'node:net';
import { waitFor } from './wait';

export interface RawClient {
  readonly socket: Socket;
  /** All that came back so far. */
  received(): string;
  write(bytes: string | Uint8Array): void;
  /** Status codes of the answers so far; interim answers (1xx) included. */
  statuses(): number[];
  /** Resolves when `count` answers have begun, or the other side has closed. */
  answers(count?: number): Promise<number[]>;
  readonly closed: () => boolean;
  destroy(): void;
}

/** A client that writes exactly what it is told, well-formed or not. */
export async function rawClient(port: number): Promise<RawClient> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  let isClosed = false;
  socket.on('data', (chunk) => (text += chunk.toString('latin1')));
  socket.on('error', () => undefined);
  socket.on('close', () => (isClosed = true));
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  const statuses = () => [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => Number(match[1]));
  return {
    socket,
    received: () => text,
    write: (bytes) => void socket.write(bytes),
    statuses,
    async answers(count = 1) {
      await waitFor(`${count} answers`, () => isClosed || statuses().length >= count, 20_000);
      return statuses();
    },
    closed: () => isClosed,
    destroy: () => void socket.destroy(),
  };
}

/** One exchange on a connection of its own: the status of the first final answer; 0 when the connection is just closed. */
export async function exchange(port: number, bytes: string | Uint8Array): Promise<number> {
  const client = await rawClient(port);
  client.write(bytes);
  const [status = 0] = await client.answers();
  client.destroy();
  return status;
}
