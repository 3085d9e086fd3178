// Random secrets of the quick start, made once per user directory. The webhook's own copy is a Node-RED credential;
// this one is for printing a signed request.
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';

/** @typedef {{ credentialSecret: string, webhookSecret: string }} Secrets */

/**
 * @param {string} file
 * @returns {Promise<Secrets>}
 */
export async function loadSecrets(file) {
  if (existsSync(file)) return JSON.parse(await readFile(file, 'utf8'));
  const secrets = {
    credentialSecret: randomBytes(32).toString('hex'),
    webhookSecret: randomBytes(24).toString('hex'),
  };
  await writeFile(file, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 });
  return secrets;
}
