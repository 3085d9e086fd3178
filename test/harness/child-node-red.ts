import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from '../../scripts/node-red/child.mjs';
import { freePort } from '../../scripts/node-red/ports.mjs';
import { prepareUserDir, writeFlows } from '../../scripts/node-red/user-dir.mjs';
import type { FlowNode } from './node-red';

interface ChildOptions {
  /** Written before the start, credentials inline; without them the user directory's own flows run. */
  readonly flows?: readonly FlowNode[];
  /** JSON values over the template in scripts/node-red/user-dir.mjs. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Keep using the user directory of an earlier child; otherwise a new one, deleted by `remove`. */
  readonly userDir?: string;
  /** Changes the user directory after this package was put into it. */
  readonly prepare?: (userDir: string) => Promise<void>;
  /** Keep a port over restarts, so that senders find the new process. */
  readonly port?: number;
}

export interface ChildNodeRed {
  readonly pid: number;
  readonly port: number;
  readonly url: string;
  readonly userDir: string;
  /** What it has written so far, stdout and stderr. */
  log(): string;
  /** SIGKILL: nothing of Node-RED gets to run. */
  kill(): Promise<void>;
  /** SIGTERM, as a service manager ends it. */
  stop(): Promise<void>;
  /** Ends it, if it still runs, and deletes its user directory. */
  remove(): Promise<void>;
}

/** Starts Node-RED as a process of its own by its own launcher; resolves once its flows run. */
export async function startChildNodeRed(options: ChildOptions = {}): Promise<ChildNodeRed> {
  const userDir = options.userDir ?? (await mkdtemp(join(tmpdir(), 'sluice-child-')));
  await prepareUserDir(userDir);
  await options.prepare?.(userDir);
  // Without a place on the canvas Node-RED takes a node for a configuration node.
  const placed = options.flows?.map((node) => ('wires' in node ? { x: 100, y: 100, ...node } : node));
  if (placed) await writeFlows(userDir, placed);
  const child = await startChild({
    userDir,
    port: options.port ?? (await freePort()),
    settings: { credentialSecret: 'test', ...options.settings },
  });
  return {
    pid: child.pid,
    port: child.port,
    url: child.url,
    userDir,
    log: child.log,
    kill: child.kill,
    stop: child.stop,
    async remove() {
      await child.kill();
      await rm(userDir, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}
