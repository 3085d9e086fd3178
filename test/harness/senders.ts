import { connect } from 'node:net';
import { sign } from '#lib/webhook/sign';
import { SECRET } from './webhook';

/** A webhook, signed and ready to be written to a socket, as often as it takes. */
export interface PreparedHook {
  readonly id: string;
  readonly wire: Buffer;
}

export function prepareHook(hook: string, id: string, body: unknown): PreparedHook {
  const bytes = Buffer.from(JSON.stringify(body));
  const nowSecs = Math.floor(Date.now() / 1000);
  const headers = {
    host: '127.0.0.1',
    'content-type': 'application/json',
    ...sign({ scheme: 'standard', secret: SECRET }, { body: bytes, id, nowSecs }),
    'content-length': String(bytes.length),
  };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const wire = Buffer.concat([
    Buffer.from(`POST /api/hooks/${hook} HTTP/1.1\r\n${head.join('')}\r\n`),
    bytes,
  ]);
  return { id, wire };
}

export interface Senders {
  /** Ids answered with 200, in the order of the answers. */
  readonly accepted: ReadonlySet<string>;
  /** Requests that were sent again after a 503 or a broken connection. */
  readonly repeats: number;
  /** Resolves when every webhook was answered with 200; rejects on an answer that a sender would give up on. */
  readonly finished: Promise<void>;
  /** Gives up on what isn't accepted yet. */
  stop(): void;
}

/** A sender's patience between two tries; a real one has more, which would only make the test longer. */
const RETRY_MS = 20;

/** Sends webhooks over `connections` at once, each as often as it takes: 503 and broken connections are tried again. */
export function startSenders(
  port: number,
  connections: number,
  hooks: readonly PreparedHook[],
  onAccepted: (count: number) => void = () => undefined,
): Senders {
  const waiting = [...hooks].reverse();
  const accepted = new Set<string>();
  let repeats = 0;
  let stopped = false;
  const again = (hook: PreparedHook) => {
    repeats += 1;
    waiting.unshift(hook);
  };

  /** One connection, until it breaks or there is nothing left to send. */
  const useConnection = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(port, '127.0.0.1').setNoDelay(true);
      let sent: PreparedHook | undefined;
      let received = '';
      const next = () => {
        sent = stopped ? undefined : waiting.pop();
        if (sent) socket.write(sent.wire);
        else socket.destroy();
      };
      socket.on('connect', next);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        if (sent) again(sent);
        resolve();
      });
      socket.on('data', (chunk) => {
        received += chunk.toString('latin1');
        const headEnd = received.indexOf('\r\n\r\n');
        const length = Number(/content-length: (\d+)/i.exec(received)?.[1] ?? NaN);
        if (headEnd < 0 || !(received.length >= headEnd + 4 + length)) return;
        const answer = received;
        const hook = sent;
        received = '';
        sent = undefined;
        if (!hook) return;
        if (answer.startsWith('HTTP/1.1 200')) {
          accepted.add(hook.id);
          onAccepted(accepted.size);
        } else if (answer.startsWith('HTTP/1.1 503')) {
          again(hook);
          socket.destroy();
          return;
        } else {
          socket.destroy();
          return reject(new Error(`${hook.id} was answered: ${answer}`));
        }
        next();
      });
    });

  const sender = async () => {
    while (!stopped && accepted.size < hooks.length) {
      await useConnection();
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  };
  const finished = Promise.all(Array.from({ length: connections }, sender)).then(() => undefined);
  return {
    accepted,
    get repeats() {
      return repeats;
    },
    finished,
    stop: () => (stopped = true),
  };
}
