// Node-RED as a process of its own, started by its own launcher: what a user runs, and what SIGKILL can end.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { inRoot } from '../paths.mjs';
import { writeSettings } from './user-dir.mjs';

const require = createRequire(inRoot('package.json'));

/**
 * @typedef {object} ChildOptions
 * @property {string} userDir prepared by `prepareUserDir`
 * @property {number} port
 * @property {Readonly<Record<string, unknown>>} [settings] JSON values for settings.js
 * @property {(line: string) => void} [onLine] gets each line of the log
 * @property {number} [readyMs] how long it may take until the flows run
 *
 * @typedef {object} ChildNodeRed
 * @property {number} pid
 * @property {number} port
 * @property {string} url without a slash at the end
 * @property {() => string} log what it has said so far
 * @property {Promise<void>} exited
 * @property {() => Promise<void>} kill SIGKILL: no handler of Node-RED runs
 * @property {() => Promise<void>} stop SIGTERM, then SIGKILL after 20 s
 */

const STARTED = 'Started flows';
/** Then it waits for somebody to install something, and starts no flows. */
const STUCK = /Waiting for missing types|Failed to load external modules/;

/** Node-RED closes its nodes within 15 s at the most. */
const STOP_MS = 20_000;

/**
 * Resolves once the flows run; rejects with the log if the process ends before, or takes too long.
 * @param {ChildOptions} options
 * @returns {Promise<ChildNodeRed>}
 */
export async function startChild({ userDir, port, settings = {}, onLine, readyMs = 60_000 }) {
  await writeSettings(userDir, { ...settings, uiPort: port });
  const launcher = require.resolve('node-red/red.js');
  const args = [launcher, '--userDir', userDir, '--settings', join(userDir, 'settings.js')];
  const child = spawn(process.execPath, args, { cwd: userDir, stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  let rest = '';
  const exited = new Promise((/** @type {(value: void) => void} */ resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  const isRunning = () => child.exitCode === null && child.signalCode === null;

  await new Promise((/** @type {(value: void) => void} */ resolve, reject) => {
    const fail = (/** @type {string} */ reason) => {
      clearTimeout(timer);
      child.kill('SIGKILL');
      reject(new Error(`${reason}:\n${log}`));
    };
    const timer = setTimeout(() => fail(`Node-RED has not started its flows after ${readyMs} ms`), readyMs);
    void exited.then(() => fail('Node-RED ended before its flows ran'));
    const read = (/** @type {string} */ text) => {
      log += text;
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        onLine?.(line);
        if (STUCK.test(line)) fail('Node-RED cannot start the flows');
        if (!line.includes(STARTED)) continue;
        clearTimeout(timer);
        resolve();
      }
    };
    child.stdout.setEncoding('utf8').on('data', read);
    child.stderr.setEncoding('utf8').on('data', read);
  });

  return {
    pid: child.pid ?? 0,
    port,
    url: `http://127.0.0.1:${port}`,
    log: () => log,
    exited,
    async kill() {
      if (isRunning()) child.kill('SIGKILL');
      await exited;
    },
    async stop() {
      if (!isRunning()) return;
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await exited;
      clearTimeout(timer);
    },
  };
}
