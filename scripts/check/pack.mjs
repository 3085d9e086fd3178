// What npm would publish: everything that Node-RED loads, and nothing of the workshop.
import { existsSync } from 'node:fs';
import { filesUnder } from '../build/freshness.mjs';
import { listedNodes } from '../build/manifest.mjs';
import { relative, sep } from 'node:path';
import { inRoot, root } from '../paths.mjs';
import { runNpm } from '../process.mjs';

const STRANGERS = /^(test|scripts|bench|lib|nodes)\/|\.ts$|\.tsbuildinfo$|(^|\/)\.|engines\//;
const NEEDED = ['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md', 'dist/lib/cli/main.js'];

/** @param {string} type */
const filesOfNode = (type) => [
  `dist/nodes/${type}/${type}.js`,
  `dist/nodes/${type}/${type}.html`,
  `dist/nodes/${type}/icons/${type}.svg`,
  `dist/nodes/${type}/locales/en-US/${type}.json`,
];

/**
 * Sentences about files that don't belong into the package or are missing in it.
 * @param {readonly string[]} packed
 * @param {readonly string[]} types
 * @param {readonly string[]} compiled
 */
export function packProblems(packed, types, compiled) {
  const inside = new Set(packed);
  const needed = [...NEEDED, ...types.flatMap(filesOfNode), ...compiled];
  return [
    ...packed
      .filter((file) => STRANGERS.test(file))
      .map((file) => `${file} does not belong into the package`),
    ...needed.filter((file) => !inside.has(file)).map((file) => `${file} is missing in the package`),
  ];
}

export async function packCheck() {
  const { code, stdout, output } = await runNpm(['pack', '--dry-run', '--json', '--ignore-scripts']);
  if (code !== 0) return [output];
  /** @type {[{ files: { path: string }[] }]} */
  const [{ files }] = JSON.parse(stdout);
  const compiled = existsSync(inRoot('dist')) ? await filesUnder(inRoot('dist')) : [];
  return packProblems(
    files.map(({ path }) => path),
    Object.keys(await listedNodes(root)),
    compiled.filter((file) => file.endsWith('.js')).map((file) => relative(root, file).split(sep).join('/')),
  );
}
