import { readFile } from 'node:fs/promises';
import { inRoot } from '../paths.mjs';

/** @typedef {import('../node-red/user-dir.mjs').FlowNode} FlowNode */

/** The port that the example's destination is written for. */
const EXAMPLE_PORT = '127.0.0.1:1880';

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
