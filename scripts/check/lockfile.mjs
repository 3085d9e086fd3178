// Whether `npm ci` would take package-lock.json: told without network, and for npm versions that are less strict, too.
import { readFile } from 'node:fs/promises';
import { inRoot } from '../paths.mjs';

/** @typedef {Readonly<Record<string, string>>} Ranges */

/**
 * @typedef {object} Package
 * @property {Ranges} [dependencies]
 * @property {Ranges} [devDependencies]
 * @property {Ranges} [optionalDependencies]
 * @property {Ranges} [peerDependencies]
 * @property {string} [resolved]
 */

const KINDS = /** @type {const} */ ([
  'dependencies',
  'devDependencies',
  'optionalDependencies',
  'peerDependencies',
]);

/**
 * Where Node would look for a package, from the folder outwards.
 * @param {string} path of a package in the lock, '' for ours
 * @param {string} name
 */
function* places(path, name) {
  for (
    let from = path;
    from !== '';
    from = from.slice(0, from.lastIndexOf('node_modules/')).replace(/\/$/, '')
  ) {
    yield `${from}/node_modules/${name}`;
  }
  yield `node_modules/${name}`;
}

/**
 * Sentences about what package-lock.json lacks, or has too much.
 * @param {Package} manifest package.json
 * @param {Readonly<Record<string, Package>>} packages of package-lock.json, by path
 */
export function lockProblems(manifest, packages) {
  const problems = [];
  const regenerate = 'npm install --package-lock-only --ignore-scripts';
  for (const kind of KINDS) {
    const wanted = manifest[kind] ?? {};
    const locked = packages['']?.[kind] ?? {};
    for (const name of new Set([...Object.keys(wanted), ...Object.keys(locked)])) {
      if (wanted[name] === locked[name]) continue;
      problems.push(
        `${kind}: package.json has ${name} ${wanted[name] ?? '-'}, the lock ${locked[name] ?? '-'}: ${regenerate}`,
      );
    }
  }
  for (const [path, { dependencies, optionalDependencies, resolved }] of Object.entries(packages)) {
    if (resolved?.startsWith('http')) problems.push(`${path} names its registry: remove "resolved"`);
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      if ([...places(path, name)].some((place) => place in packages)) continue;
      problems.push(`${path} needs ${name}, which is not in the lock: npm ci fails`);
    }
  }
  return problems;
}

export async function lockfileCheck() {
  const [manifest, lock] = await Promise.all(
    ['package.json', 'package-lock.json'].map(async (file) =>
      JSON.parse(await readFile(inRoot(file), 'utf8')),
    ),
  );
  return lockProblems(manifest, lock.packages);
}
