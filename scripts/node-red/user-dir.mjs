// A Node-RED user directory with this package installed in it, as the palette manager would leave it.
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../paths.mjs';

/**
 * @typedef {{ readonly id: string, readonly type: string, readonly [property: string]: unknown }} FlowNode
 * Credentials may be inline, as `credentials: { secret: … }`.
 */

/**
 * Creates the directory, or brings an earlier one up to date; its flows stay.
 * @param {string} userDir
 */
export async function prepareUserDir(userDir) {
  const scope = join(userDir, 'node_modules/@sluice');
  await mkdir(scope, { recursive: true });
  await rm(join(scope, 'node-red'), { recursive: true, force: true });
  // A junction needs no administrator on Windows; elsewhere the type is ignored.
  await symlink(root, join(scope, 'node-red'), 'junction');
  await writeFile(
    join(userDir, 'package.json'),
    `${JSON.stringify({ name: 'sluice-user-dir', private: true, dependencies: { '@sluice/node-red': '*' } }, null, 2)}\n`,
  );
}

/**
 * Puts flows where Node-RED finds them at its next start. It reads credentials in the clear once and encrypts them.
 * @param {string} userDir
 * @param {readonly FlowNode[]} flows
 */
export async function writeFlows(userDir, flows) {
  /** @type {Record<string, unknown>} */
  const credentials = {};
  const bare = flows.map(({ credentials: own, ...node }) => {
    if (own) credentials[node.id] = own;
    return node;
  });
  await writeFile(join(userDir, 'flows.json'), JSON.stringify(bare));
  await writeFile(join(userDir, 'flows_cred.json'), JSON.stringify(credentials), { mode: 0o600 });
}

/**
 * @param {string} userDir
 * @param {Readonly<Record<string, unknown>>} settings JSON values over the ones below
 */
export async function writeSettings(userDir, settings) {
  const complete = {
    uiHost: '127.0.0.1',
    flowFile: 'flows.json',
    // Fixed, because the launcher reads the log.
    lang: 'en-US',
    logging: { console: { level: 'info', metrics: false, audit: false } },
    editorTheme: { tours: false },
    telemetry: { enabled: false, updateNotification: false },
    ...settings,
  };
  const file = join(userDir, 'settings.js');
  await writeFile(file, `module.exports = ${JSON.stringify(complete, null, 2)};\n`, { mode: 0o600 });
}
