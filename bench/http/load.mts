/** A load generator that costs little itself: requests are prepared bytes, answers are only looked at for their status. */
import { connect, type Socket } from 'node:net';

export interface LoadResult {
  readonly perSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly byStatus: ReadonlyMap<number, number>;
}

export interface PreparedRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** The request's bytes as they go over the wire. */
export function toWire({ path, headers, body }: PreparedRequest): Buffer {
  const lines = Object.entries({
    host: '127.0.0.1',
    'content-type': 'application/json',
    ...headers,
    'content-length': String(body.length),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`), body]);
}

const HEAD_END = '\r\n\r\n';

/** Sends requests one after the other on each of `connections` until `seconds` have passed or `next` has no more. */
export async function fire(
  port: number,
  connections: number,
  seconds: number,
  next: () => Buffer | undefined,
): Promise<LoadResult> {
  const byStatus = new Map<number, number>();
  const latencies: number[] = [];
  const start = performance.now();
  const deadline = start + seconds * 1000;

  const client = () =>
    new Promise<void>((resolve, reject) => {
      const socket: Socket = connect(port, '127.0.0.1');
      socket.setNoDelay(true);
      let sentAt = 0;
      let pending = '';
      const request = () => {
        const bytes = performance.now() < deadline ? next() : undefined;
        if (!bytes) {
          socket.destroy();
          return resolve();
        }
        sentAt = performance.now();
        socket.write(bytes);
      };
      socket.on('connect', request);
      socket.on('error', reject);
      socket.on('data', (chunk) => {
        pending += chunk.toString('latin1');
        const headEnd = pending.indexOf(HEAD_END);
        if (headEnd < 0) return;
        const length = Number(/content-length: (\d+)/i.exec(pending)?.[1] ?? 0);
        if (pending.length < headEnd + HEAD_END.length + length) return;
        const status = Number(pending.slice(9, 12));
        byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
        latencies.push(performance.now() - sentAt);
        pending = '';
        request();
      });
    });

  await Promise.all(Array.from({ length: connections }, client));
  const elapsedSecs = (performance.now() - start) / 1000;
  latencies.sort((a, b) => a - b);
  return {
    perSecond: latencies.length / elapsedSecs,
    p50: latencies[Math.floor(latencies.length * 0.5)] ?? 0,
    p99: latencies[Math.floor(latencies.length * 0.99)] ?? 0,
    byStatus,
  };
}
