// Whether dist/ still matches its sources, so that a start or a test run without changes builds nothing.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { nodeFolders } from './manifest.mjs';

const SOURCES = [
  'lib',
  'nodes',
  'icons',
  'scripts/build',
  'scripts/build.mjs',
  'package.json',
  'package-lock.json',
];
const CONFIGS = ['tsconfig.json', 'tsconfig.build.json'];
const STAMP = '.sources';

/**
 * Every file under a path, or the path itself.
 * @param {string} path
 * @returns {Promise<string[]>}
 */
export async function filesUnder(path) {
  if (!existsSync(path)) return [];
  if (!(await stat(path)).isDirectory()) return [path];
  const entries = await readdir(path, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/**
 * Digest of names, sizes and times of all sources.
 * @param {string} root
 */
export async function sourceDigest(root) {
  const hash = createHash('sha256').update(process.version);
  for (const source of [...SOURCES, ...CONFIGS]) {
    for (const file of await filesUnder(join(root, source))) {
      const { size, mtimeMs } = await stat(file);
      hash.update(`${relative(root, file)}\0${size}\0${mtimeMs}\n`);
    }
  }
  return hash.digest('hex');
}

/**
 * @param {string} out
 * @param {string} digest
 */
export async function isFresh(out, digest) {
  const stamp = join(out, STAMP);
  return existsSync(stamp) && (await readFile(stamp, 'utf8')) === digest;
}

/**
 * @param {string} out
 * @param {string} digest
 */
export const markFresh = (out, digest) => writeFile(join(out, STAMP), digest);

/** @param {string} out */
export const markStale = (out) => rm(join(out, STAMP), { force: true });

/**
 * Deletes compiled files whose source is gone: tsc leaves them, and they would be packed.
 * @param {string} root
 * @param {string} out
 */
export async function pruneCompiled(root, out) {
  for (const file of await filesUnder(out)) {
    if (!file.endsWith('.js')) continue;
    const source = join(root, relative(out, file)).replace(/\.js$/, '.ts');
    if (!existsSync(source)) await rm(file);
  }
  const live = await nodeFolders(root);
  for (const folder of existsSync(join(out, 'nodes')) ? await readdir(join(out, 'nodes')) : []) {
    if (!live.includes(folder)) await rm(join(out, 'nodes', folder), { recursive: true, force: true });
  }
}
