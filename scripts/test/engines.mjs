import { existsSync, readFileSync } from 'node:fs';
import { inRoot } from '../paths.mjs';
import { runNpm } from '../process.mjs';
import { startWaiting } from '../terminal/waiting.mjs';

const FOLDER = inRoot('test/engines');

/** @param {string} file */
const manifest = (file) => JSON.parse(readFileSync(inRoot('test/engines', file), 'utf8'));

/** Each in the version that test/engines/package.json names. */
function isComplete() {
  /** @type {Record<string, string>} */
  const wanted = manifest('package.json').dependencies;
  return Object.entries(wanted).every(([name, version]) => {
    const file = `node_modules/${name}/package.json`;
    return existsSync(inRoot('test/engines', file)) && manifest(file).version === version;
  });
}

/**
 * Installs the engines that tests and demos run for real: most of a gigabyte, so apart from all else, and without a
 * lockfile, which would have to name the binaries of all platforms. Returns why not, or undefined when they are there.
 */
export async function ensureEngines() {
  if (isComplete()) return undefined;
  const waiting = startWaiting('Installing test/engines (700 MB, once)');
  const args = ['install', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund'];
  const { code, output } = await runNpm(args, { cwd: FOLDER });
  waiting.end();
  return code === 0 ? undefined : output.trimEnd();
}
