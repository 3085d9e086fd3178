/**
 * @typedef {import('../node-red/user-dir.mjs').FlowNode} FlowNode
 * @typedef {(config: object, request: { body: Uint8Array, id: string, nowSecs: number }) => Readonly<Record<string, string>>} Sign
 */

/** A fresh id for each call where the shell can make one: two requests with one id are one order. */
const REQUEST_ID = process.platform === 'win32' ? 'order-1' : "$(node -p 'crypto.randomUUID()')";

/**
 * A curl command with a valid signature. The quick start's scheme signs the body alone, so that it doesn't go stale.
 * @param {string} url of Node-RED
 * @param {FlowNode} webhook
 * @param {string} secret
 * @param {Sign} sign
 */
export function curlLine(url, webhook, secret, sign) {
  const body = JSON.stringify({ order: 1001, item: 'book', quantity: 2 });
  const headers = sign(
    { ...webhook, secret },
    { body: Buffer.from(body), id: 'to-be-replaced', nowSecs: Math.floor(Date.now() / 1000) },
  );
  const idHeader = String(webhook['idHeader']);
  const lines = Object.entries({
    'content-type': 'application/json',
    ...headers,
    [idHeader]: REQUEST_ID,
  }).map(([name, value]) => `-H "${name}: ${value}"`);
  const data = process.platform === 'win32' ? `"${body.replaceAll('"', '\\"')}"` : `'${body}'`;
  return `curl -i ${url}/api/hooks/${String(webhook['hook'])} ${lines.join(' ')} -d ${data}`;
}
