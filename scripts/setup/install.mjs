// Installs what is missing. Runs before anything is installed, so it imports nothing from npm.
import { existsSync, readFileSync } from 'node:fs';
import { inRoot } from '../paths.mjs';
import { runNpm } from '../process.mjs';
import { startWaiting } from '../terminal/waiting.mjs';
import { isLink } from './link.mjs';
import { buildAdvice, buildEnv, sameCommand } from './native-build.mjs';

/**
 * @typedef {{ version?: string, optional?: boolean, devOptional?: boolean, peer?: boolean, link?: boolean }} LockedPackage
 * @typedef {{ packages?: Record<string, LockedPackage> }} Lockfile
 */

/**
 * @param {string} file
 * @returns {Record<string, LockedPackage>}
 */
function packagesOf(file) {
  /** @type {Lockfile} */
  const lockfile = JSON.parse(readFileSync(file, 'utf8'));
  return lockfile.packages ?? {};
}

/**
 * Whether an installed tree has all that the lockfile asks for. npm keeps its own record of what it installed, without
 * the optional packages of other platforms.
 * @param {Record<string, LockedPackage>} locked
 * @param {Record<string, LockedPackage>} installed
 */
export function isInstalled(locked, installed) {
  return Object.entries(locked).every(([path, { version, optional, devOptional, peer }]) => {
    if (path === '') return true;
    const found = installed[path];
    return found ? found.version === version : Boolean(optional ?? devOptional ?? peer);
  });
}

function isComplete() {
  const record = inRoot('node_modules/.package-lock.json');
  return existsSync(record) && isInstalled(packagesOf(inRoot('package-lock.json')), packagesOf(record));
}

/** How node-gyp begins, after the download of a prebuilt binary has failed. */
export const COMPILES = /gyp info (?:it worked|using|spawn)|prebuild-install warn/;

/** Returns false, after saying why, when npm could not install. */
export async function ensureInstalled() {
  if (isComplete()) return true;
  if (isLink(inRoot('node_modules'))) {
    console.error(
      'node_modules is a link, and what it points to lacks packages of package-lock.json: install there.',
    );
    return false;
  }
  const waiting = startWaiting('Installing packages (npm ci), a minute or two the first time');
  const { code, output } = await runNpm(['ci', '--no-audit', '--no-fund', '--foreground-scripts'], {
    env: buildEnv(),
    onOutput: (text) => {
      if (COMPILES.test(text))
        waiting.goOn(
          'Compiling the native SQLite module, some minutes: there is no prebuilt one for this machine',
        );
    },
  });
  const seconds = waiting.end();
  if (code === 0) {
    console.log(`Packages installed in ${seconds} s.`);
    return true;
  }
  console.error(output.trimEnd());
  console.error('\nnpm ci failed; its output is above.');
  if (/better-sqlite3|node-gyp|prebuild-install/.test(output)) console.error(buildAdvice(output));
  // npm ci takes back what it had installed, so that a rebuild alone would find nothing.
  console.error(`Then run:  ${sameCommand()}  again`);
  return false;
}
