import { existsSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inRoot } from '../paths.mjs';

/** @typedef {import('../node-red/user-dir.mjs').FlowNode} FlowNode */

/** The port that the example's destination is written for. */
const EXAMPLE_PORT = '127.0.0.1:1880';

/** The quick start's destination, which is a flow of the same Node-RED. */
const SINK = '5f1c0a7e00000005';
const OWN_URL = /^http:\/\/127\.0\.0\.1:(\d+)\/demo\/orders$/;

/** @param {FlowNode} node */
const isWebhook = (node) => node.type === 'signed-webhook';

/**
 * The quick-start example for this port, with the secret in its webhook.
 * @param {number} port
 * @param {string} secret
 * @returns {Promise<FlowNode[]>}
 */
async function quickStart(port, secret) {
  const text = await readFile(inRoot('examples/quick-start.json'), 'utf8');
  /** @type {FlowNode[]} */
  const flows = JSON.parse(text.replaceAll(EXAMPLE_PORT, `127.0.0.1:${port}`));
  return flows.map((node) => (isWebhook(node) ? { ...node, credentials: { secret } } : node));
}

/**
 * Deploys the example where nothing is deployed yet: by the admin API, so that Node-RED encrypts the secret itself.
 * @param {string} url of Node-RED
 * @param {number} port
 * @param {string} secret
 * @returns {Promise<FlowNode | undefined>} the quick start's webhook, if it is there now
 */
export async function ensureFirstFlow(url, port, secret) {
  const example = await quickStart(port, secret);
  const deployed = /** @type {FlowNode[]} */ (await (await fetch(`${url}/flows`)).json());
  const webhook = example.find(isWebhook);
  if (deployed.length > 0) return deployed.find((node) => node.id === webhook?.id);
  const answer = await fetch(`${url}/flows`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(example),
  });
  if (!answer.ok) throw new Error(`Node-RED did not take the first flow: ${await answer.text()}`);
  return webhook;
}

/**
 * Lets the quick start's sink follow this Node-RED to another port, before it starts. A URL of the user's own stays, and
 * so does everything else in the file.
 * @param {string} userDir
 * @param {number} port
 */
export async function followPort(userDir, port) {
  const file = join(userDir, 'flows.json');
  if (!existsSync(file)) return;
  const text = await readFile(file, 'utf8');
  /** @type {FlowNode[]} */
  const flows = JSON.parse(text);
  const url = String(flows.find(({ id }) => id === SINK)?.['url']);
  const [, before] = OWN_URL.exec(url) ?? [];
  if (before === undefined || Number(before) === port) return;
  const moved = text.replaceAll(JSON.stringify(url), JSON.stringify(url.replace(`:${before}/`, `:${port}/`)));
  await writeFile(`${file}.new`, moved);
  await rename(`${file}.new`, file);
}
