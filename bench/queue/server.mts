/** A server of another project, if it is installed: on loopback, in a folder of its own, ended by its process id. */
import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { delimiter, join } from 'node:path';
import { freePort } from '../../scripts/node-red/ports.mjs';
import { pause } from './load.mjs';

export interface Server {
  readonly port: number;
  stop(): Promise<void>;
}

/** Looks in PATH and in BENCH_PATH, for servers that are unpacked and not installed. */
export function findBinary(name: string): string | undefined {
  const dirs = `${process.env.BENCH_PATH ?? ''}${delimiter}${process.env.PATH ?? ''}`.split(delimiter);
  return dirs
    .filter((dir) => dir !== '')
    .map((dir) => join(dir, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

export async function startServer(
  binary: string,
  args: (port: number) => readonly string[],
  options: {
    readonly uid?: number;
    readonly env?: (port: number) => NodeJS.ProcessEnv;
    readonly waitMs?: number;
  } = {},
): Promise<Server> {
  const port = await freePort();
  const { uid, env, waitMs = 20_000 } = options;
  const child = spawn(binary, args(port), {
    stdio: 'ignore',
    env: { ...process.env, ...env?.(port) },
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const deadline = Date.now() + waitMs;
  while (!(await answers(port))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      child.kill('SIGKILL');
      throw new Error(`${binary} did not start`);
    }
    await pause(100);
  }
  return {
    port,
    async stop() {
      child.kill('SIGTERM');
      const late = setTimeout(() => child.kill('SIGKILL'), 10_000);
      await ended;
      clearTimeout(late);
    },
  };
}

async function answers(port: number): Promise<boolean> {
  try {
    (await open(port)).destroy();
    return true;
  } catch {
    return false;
  }
}

export function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
  });
}

/** Gathers what one turn of the event loop writes. */
export function writer(socket: Socket): (...parts: (string | Buffer)[]) => void {
  let parts: Buffer[] = [];
  return (...more) => {
    if (parts.length === 0)
      setImmediate(() => {
        socket.write(Buffer.concat(parts));
        parts = [];
      });
    for (const part of more) parts.push(typeof part === 'string' ? Buffer.from(part, 'latin1') : part);
  };
}
