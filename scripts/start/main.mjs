import { mkdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { inRoot } from '../paths.mjs';
import { prepare } from '../setup/prepare.mjs';
import { colours } from '../terminal/colour.mjs';
import { startWaiting } from '../terminal/waiting.mjs';
import { startChild } from '../node-red/child.mjs';
import { isFree } from '../node-red/ports.mjs';
import { untilReady } from '../node-red/ready.mjs';
import { prepareUserDir } from '../node-red/user-dir.mjs';
import { ensureFirstFlow, followPort } from './first-flow.mjs';
import { findRunning, forgetRunning, noteRunning } from './running.mjs';
import { loadSecrets } from './secrets.mjs';
import { curlLine } from './signed-request.mjs';

const DEFAULT_PORT = 1880;
const SEND_LINE =
  process.platform === 'win32' ? 'npm run send -- "{\\"order\\":1002}"' : `npm run send -- '{"order":1002}'`;

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
 * @param {ChildNodeRed} nodeRed
 * @param {import('./first-flow.mjs').FlowNode | undefined} webhook
 * @param {string} secret
 * @param {readonly string[]} faults of nodes that can't work
 */
function greet(nodeRed, webhook, secret, faults) {
  const { bold, cyan, dim, green, red } = colours();
  const headline = faults.length === 0 ? green('Sluice runs.') : red('Node-RED runs, but not all of Sluice:');
  const editor = `Editor: ${bold(cyan(`${nodeRed.url}/`))}`;
  console.log(`\n${[headline, ...faults.map((fault) => `  ${fault}`)].join('\n')}  ${editor}\n`);
  if (faults.length > 0) {
    console.log('docs/errors.md says what each code means and what to do. Records are refused until then.');
  } else if (!webhook) {
    console.log(
      'The first flow is not deployed any more: yours runs instead. To have it again, import the example quick-start\n' +
        'in the editor (menu > Import > Examples), or delete .sluice/ and run npm start again.',
    );
  } else {
    const require = createRequire(inRoot('package.json'));
    const { sign } = require(inRoot('dist/lib/webhook/sign.js'));
    console.log(
      'Send a signed order from another terminal, as often as you like; each has an id of its own:\n',
    );
    console.log(bold(curlLine(nodeRed.url, webhook, secret, sign)));
    console.log('\nIts signature fits this body only. To sign and send another one:\n');
    console.log(bold(SEND_LINE));
    console.log(
      '\nAn order is answered 200 once it is on disk in the queue. Then it is delivered, and the editor shows it under\n' +
        'the node "delivered order".',
    );
  }
  console.log(
    dim(
      '\nCtrl-C ends it; what is queued stays in .sluice/start. From here on this is the log of Node-RED.\n',
    ),
  );
}

/**
 * Runs Node-RED until it ends or a signal comes. Returns the exit status.
 * @param {string} userDir
 * @param {number} port
 * @param {string} note
 */
async function serve(userDir, port, note) {
  await prepareUserDir(userDir);
  await followPort(userDir, port);
  const secrets = await loadSecrets(join(userDir, 'secrets.json'));
  const waiting = startWaiting('Starting Node-RED');
  let isGreeted = false;
  const starting = startChild({
    userDir,
    port,
    settings: { credentialSecret: secrets.credentialSecret, sluice: { documentPaths: true } },
    // Its twenty lines of start would bury the few that matter.
    onLine: (line) => {
      if (isGreeted) console.log(line);
      else if (line.includes('[error]')) waiting.say(line);
    },
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
    noteRunning(note, port, [process.pid, nodeRed.pid]);
    if (!stopping) {
      const webhook = await ensureFirstFlow(nodeRed.url, nodeRed.port, secrets.webhookSecret);
      const faults = await untilReady(nodeRed.url);
      waiting.end();
      greet(nodeRed, webhook, secrets.webhookSecret, faults);
      isGreeted = true;
    }
    await nodeRed.exited;
    return stopping ? 0 : 1;
  } catch (error) {
    waiting.end();
    if (stopping) return 0;
    console.error(error instanceof Error ? error.message : error);
    stop();
    return 1;
  } finally {
    waiting.end();
  }
}

/** Returns the exit status. */
export async function main() {
  const port = wantedPort();
  if (port === undefined) return 1;
  const userDir = inRoot('.sluice/start');
  await mkdir(userDir, { recursive: true });
  const note = join(userDir, 'running.json');
  const running = await findRunning(note);
  if (running) {
    console.error(
      `npm start runs already on ${userDir} (port ${running.port}, process ${running.pids.join(', ')}).\n` +
        'Two cannot share that directory: use the one that runs, or end it first.',
    );
    return 1;
  }
  if (!(await isFree(port))) {
    console.error(`Port ${port} on 127.0.0.1 is in use. Choose another one:  PORT=${port + 1} npm start`);
    return 1;
  }
  noteRunning(note, port, [process.pid]);
  try {
    return (await prepare()) ? await serve(userDir, port, note) : 1;
  } finally {
    forgetRunning(note);
  }
}
