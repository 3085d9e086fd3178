import { mkdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { inRoot } from '../paths.mjs';
import { prepare } from '../setup/prepare.mjs';
import { startChild } from '../node-red/child.mjs';
import { isFree } from '../node-red/ports.mjs';
import { prepareUserDir } from '../node-red/user-dir.mjs';
import { ensureFirstFlow } from './first-flow.mjs';
import { loadSecrets } from './secrets.mjs';
import { curlLine } from './signed-request.mjs';

const DEFAULT_PORT = 1880;
const READY_MS = 15_000;

/** @typedef {import('../node-red/child.mjs').ChildNodeRed} ChildNodeRed */

/** @returns {number | undefined} */
function wantedPort() {
  const text = process.env['PORT'] || String(DEFAULT_PORT);
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  console.error(`PORT=${text} is not a port: use a number from 1 to 65535.`);
  return undefined;
}

/**
 * A deploy is answered before its flows run.
 * @param {string} url of Node-RED
 */
async function untilReady(url) {
  const deadline = performance.now() + READY_MS;
  while (performance.now() < deadline) {
    const answer = await fetch(`${url}/sluice/api/status`);
    const status = answer.ok ? /** @type {{ ready?: boolean }} */ (await answer.json()) : {};
    if (status.ready) return;
    await delay(50);
  }
  throw new Error(`Sluice is not ready ${READY_MS} ms after the flows were deployed.`);
}

/**
 * @param {ChildNodeRed} nodeRed
 * @param {string} secret
 */
async function greet(nodeRed, secret) {
  const webhook = await ensureFirstFlow(nodeRed.url, nodeRed.port, secret);
  if (webhook) await untilReady(nodeRed.url);
  console.log(`\nSluice runs.  Editor: ${nodeRed.url}/`);
  if (webhook) {
    const require = createRequire(inRoot('package.json'));
    const { sign } = require(inRoot('dist/lib/webhook/sign.js'));
    console.log(`\nSend a signed order (in another terminal, as often as you like):\n`);
    console.log(curlLine(nodeRed.url, webhook, secret, sign));
    console.log(
      '\nIt is answered once it is stored on disk; then it is delivered and shows under "delivered order".',
    );
  }
  console.log('Ctrl-C ends it. What is queued stays queued in .sluice/start.\n');
}

/** Runs until Node-RED ends or a signal comes. Returns the exit status. */
export async function main() {
  const port = wantedPort();
  if (port === undefined) return 1;
  if (!(await isFree(port))) {
    console.error(`Port ${port} on 127.0.0.1 is in use. Choose another one:  PORT=${port + 1} npm start`);
    return 1;
  }
  if (!(await prepare())) return 1;

  const userDir = inRoot('.sluice/start');
  await mkdir(userDir, { recursive: true });
  await prepareUserDir(userDir);
  const secrets = await loadSecrets(join(userDir, 'secrets.json'));
  const starting = startChild({
    userDir,
    port,
    settings: { credentialSecret: secrets.credentialSecret, sluice: { documentPaths: true } },
    onLine: (line) => console.log(line),
  });

  let stopping = false;
  const stop = () => {
    stopping = true;
    void starting.then(
      (nodeRed) => nodeRed.stop(),
      () => undefined,
    );
  };
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) process.on(signal, stop);

  try {
    const nodeRed = await starting;
    if (!stopping) await greet(nodeRed, secrets.webhookSecret);
    await nodeRed.exited;
    return stopping ? 0 : 1;
  } catch (error) {
    if (stopping) return 0;
    console.error(error instanceof Error ? error.message : error);
    stop();
    return 1;
  }
}
