// Installs what is missing. Runs before anything is installed, so it imports nothing from npm.
import { existsSync, lstatSync, readFileSync } from 'node:fs';
import { inRoot } from '../paths.mjs';
import { runNpm } from '../process.mjs';
import { NATIVE_ADVICE } from './native-module.mjs';

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

/** npm ci would empty the folder behind a link. @param {string} path */
const isLink = (path) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;

function isComplete() {
  const record = inRoot('node_modules/.package-lock.json');
  return existsSync(record) && isInstalled(packagesOf(inRoot('package-lock.json')), packagesOf(record));
}

/** Returns false, after saying why, when npm could not install. */
export async function ensureInstalled() {
  if (isComplete()) return true;
  if (isLink(inRoot('node_modules'))) {
    console.error(
      'node_modules is a link, and what it points to lacks packages of package-lock.json: install there.',
    );
    return false;
  }
  console.log('Installing what is missing (npm ci), the first time this takes a minute or two …');
  const { code, output } = await runNpm(['ci', '--no-audit', '--no-fund']);
  if (code === 0) return true;
  console.error(output.trimEnd());
  console.error('\nnpm ci failed; its output is above.');
  if (/better-sqlite3|node-gyp|prebuild-install/.test(output)) console.error(NATIVE_ADVICE.build);
  return false;
}
