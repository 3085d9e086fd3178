import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { inRoot } from '../paths.mjs';
import { colours } from '../terminal/colour.mjs';

/** @typedef {import('../node-red/user-dir.mjs').FlowNode} FlowNode */

const USAGE = `Usage:  npm run send -- '{"order":1002}'\nWithout a body it sends an order with a random number.`;

/** @param {string} file in the user directory of npm start */
const read = async (file) => JSON.parse(await readFile(inRoot('.sluice/start', file), 'utf8'));

/**
 * Sends one request; returns the exit status: 0 when it was answered 200.
 * @param {readonly string[]} args
 */
export async function main(args) {
  const [body = JSON.stringify({ order: Math.floor(Math.random() * 1e6) }), ...more] = args;
  if (more.length > 0 || body === '--help') {
    console.error(USAGE);
    return 2;
  }
  if (!existsSync(inRoot('.sluice/start/flows.json'))) {
    console.error('There is nothing to send to yet: run npm start in another terminal first.');
    return 1;
  }
  const require = createRequire(inRoot('package.json'));
  const { uiPort } = require(inRoot('.sluice/start/settings.js'));
  /** @type {FlowNode[]} */
  const flows = await read('flows.json');
  const webhook = flows.find(({ type, d }) => type === 'signed-webhook' && d !== true);
  if (!webhook) {
    console.error('The flow of npm start has no signed webhook any more.');
    return 1;
  }
  const { sign } = require(inRoot('dist/lib/webhook/sign.js'));
  const { webhookSecret: secret } = await read('secrets.json');
  const bytes = Buffer.from(body);
  const headers = sign({ ...webhook, secret }, { body: bytes, id: randomUUID(), nowSecs: Date.now() / 1000 });
  const url = `http://127.0.0.1:${uiPort}/api/hooks/${String(webhook['hook'])}`;
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: bytes,
    });
    const retryAfter = answer.headers.get('retry-after');
    const { bold, dim } = colours();
    console.log(dim(`POST ${url}  ${body}`));
    console.log(
      `${bold(String(answer.status))} ${await answer.text()}${retryAfter ? `  Retry-After: ${retryAfter}` : ''}`,
    );
    return answer.ok ? 0 : 1;
  } catch {
    console.error(`Nothing answers on ${url}: run npm start in another terminal.`);
    return 1;
  }
}
