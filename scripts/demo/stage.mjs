// The two processes of the demo, on ports and in a directory of their own, and the faults done to them.
import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from '../node-red/child.mjs';
import { freePort } from '../node-red/ports.mjs';
import { untilReady } from '../node-red/ready.mjs';
import { prepareUserDir, writeFlows } from '../node-red/user-dir.mjs';
import { inRoot } from '../paths.mjs';
import { demoFlow, HOOK } from './flow.mjs';

/** @typedef {import('node:child_process').ChildProcess} ChildProcess */

/**
 * @param {number} port
 * @param {string} file
 * @returns {Promise<ChildProcess>}
 */
function startDestination(port, file) {
  const child = fork(inRoot('scripts/demo/destination.mjs'), [String(port), file]);
  return new Promise((resolve, reject) => {
    child.once('message', () => resolve(child));
    child.once('exit', (code) => reject(new Error(`the destination ended with ${code}`)));
  });
}

/** @param {ChildProcess} child */
function killChild(child) {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((/** @type {(value: void) => void} */ resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGKILL');
  });
}

/** @param {string} secret */
export async function setUp(secret) {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-demo-'));
  const noted = join(directory, 'noted.txt');
  const [destinationPort, port] = [await freePort(), await freePort()];
  await prepareUserDir(directory);
  await writeFlows(directory, demoFlow(`http://127.0.0.1:${destinationPort}/orders`, secret));
  const startNodeRed = () => startChild({ userDir: directory, port, settings: { credentialSecret: secret } });

  let destination = await startDestination(destinationPort, noted);
  let nodeRed = await startNodeRed();
  await untilReady(nodeRed.url);

  return {
    url: `http://127.0.0.1:${port}/api/hooks/${HOOK}`,
    killDestination: () => killChild(destination),
    async restartDestination() {
      destination = await startDestination(destinationPort, noted);
    },
    async killAndRestartNodeRed() {
      await nodeRed.kill();
      nodeRed = await startNodeRed();
    },
    /** Order numbers in the order of arrival. */
    async arrivals() {
      if (!existsSync(noted)) return [];
      const lines = (await readFile(noted, 'utf8')).split('\n');
      return lines.slice(0, -1).map(Number);
    },
    log: () => nodeRed.log(),
    async tearDown() {
      await Promise.all([nodeRed.stop(), killChild(destination)]);
      await rm(directory, { recursive: true, force: true });
    },
  };
}
