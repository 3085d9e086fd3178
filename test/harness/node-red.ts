import { createServer, type Server } from 'node:http';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { FlowConfigNode, NodeRED, RuntimeNode } from '#lib/node-red/types';

const projectRoot = resolve(import.meta.dirname, '../..');
const require = createRequire(join(projectRoot, 'package.json'));

export type DeployType = 'full' | 'flows' | 'nodes';
export type FlowNode = FlowConfigNode & { credentials?: Record<string, string> };

export interface RunningNodeRed {
  readonly RED: NodeRED;
  readonly server: Server;
  readonly port: number;
  readonly url: string;
  readonly userDir: string;
  /** Resolves at the deploy's `flows:started`. Config nodes and credentials may be inline. */
  deploy(flows: readonly FlowNode[], type?: DeployType): Promise<void>;
  node<T extends RuntimeNode>(id: string): T;
  stop(): Promise<void>;
}

interface StartOptions {
  readonly settings?: Record<string, unknown>;
  /** Keep using a user directory of an earlier start. */
  readonly userDir?: string;
  /** Further node files, e.g. test nodes: paths of folders scanned by Node-RED. */
  readonly nodesDir?: readonly string[];
}

/** A fresh user directory in which this package is installed, as the palette manager would leave it. */
export async function makeUserDir(): Promise<string> {
  const userDir = await mkdtemp(join(tmpdir(), 'sluice-nr-'));
  await mkdir(join(userDir, 'node_modules/@sluice'), { recursive: true });
  await symlink(projectRoot, join(userDir, 'node_modules/@sluice/node-red'), 'dir');
  await writeFile(
    join(userDir, 'package.json'),
    JSON.stringify({ name: 'test-user-dir', dependencies: { '@sluice/node-red': '*' } }),
  );
  return userDir;
}

/**
 * Starts the one Node-RED this process can hold, on a free loopback port. Vitest runs each test file in a process of
 * its own, so a file may start it once.
 */
export async function startNodeRed(options: StartOptions = {}): Promise<RunningNodeRed> {
  const express = require('express') as () => { (): void; use(path: string, app: unknown): void };
  const RED = require('node-red') as NodeRED & {
    init(server: Server, settings: object): void;
    start(): Promise<void>;
    stop(): Promise<void>;
    runtime: { flows: { setFlows(options: object): Promise<unknown> } };
  };
  const userDir = options.userDir ?? (await makeUserDir());
  const app = express();
  const server = createServer(app);
  const settings = {
    userDir,
    httpAdminRoot: '/',
    httpNodeRoot: '/',
    flowFile: 'flows.json',
    credentialSecret: 'test',
    nodesDir: options.nodesDir ?? [],
    logging: { console: { level: process.env['SLUICE_TEST_LOG'] ?? 'off', metrics: false, audit: false } },
    functionExternalModules: false,
    editorTheme: { tours: false, palette: {} },
    telemetry: { enabled: false, updateNotification: false },
    ...options.settings,
  };
  RED.init(server, settings);
  app.use(settings.httpAdminRoot, RED.httpAdmin);
  app.use(settings.httpNodeRoot, RED.httpNode);
  const started = new Promise<void>((resolve) => RED.events.once('flows:started', () => resolve()));
  await RED.start();
  await started;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  return {
    RED,
    server,
    port,
    url: `http://127.0.0.1:${port}`,
    userDir,
    async deploy(flows, type = 'full') {
      const ready = new Promise<void>((resolve) => RED.events.once('flows:started', () => resolve()));
      const credentials: Record<string, unknown> = {};
      for (const node of flows) if (node.credentials) credentials[node.id] = node.credentials;
      // Without a place on the canvas Node-RED takes a node for a configuration node.
      const bare = flows.map(({ credentials: _, ...node }) =>
        'wires' in node ? { x: 100, y: 100, ...node } : node,
      );
      await RED.runtime.flows.setFlows({ flows: { flows: bare, credentials }, deploymentType: type });
      await ready;
    },
    node: <T extends RuntimeNode>(id: string) => {
      const found = RED.nodes.getNode(id);
      if (!found) throw new Error(`no live node ${id}`);
      return found as T;
    },
    async stop() {
      await RED.stop();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      if (!options.userDir) await rm(userDir, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}
