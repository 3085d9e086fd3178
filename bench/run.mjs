// npm run bench -- NAME: runs bench/NAME.bench.mts against dist/. Without a name, lists what there is.
import { readFile, readdir, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { inRoot } from '../scripts/paths.mjs';
import { runNode } from '../scripts/process.mjs';
import { requireNode } from '../scripts/setup/node-version.mjs';
import { prepare } from '../scripts/setup/prepare.mjs';

requireNode();
const SUFFIX = '.bench.mts';
const [name, ...args] = process.argv.slice(2);
const names = (await readdir(inRoot('bench')))
  .filter((file) => file.endsWith(SUFFIX))
  .map((file) => file.slice(0, -SUFFIX.length));

if (name === undefined || !names.includes(name)) {
  if (name !== undefined) console.error(`There is no benchmark "${name}".`);
  console.log(`npm run bench -- NAME, with NAME one of: ${names.join(', ') || '(none yet)'}`);
  process.exit(name === undefined ? 0 : 2);
}
if (!(await prepare())) process.exit(1);

// Node 20 can't run TypeScript. The bundle lies beside its source, so that packages, #lib and scripts resolve from there.
const bundle = inRoot('bench', `.${name}-${process.pid}.mjs`);
const { build } = await import('esbuild');
/**
 * Files of the test harness find the project from where they are, which the bundle isn't.
 * @type {import('esbuild').Plugin}
 */
const ownFolders = {
  name: 'own-folders',
  setup(building) {
    building.onLoad({ filter: /\.m?ts$/ }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8')).replaceAll(
        'import.meta.dirname',
        JSON.stringify(dirname(path)),
      ),
      loader: 'ts',
    }));
  },
};
await build({
  entryPoints: [inRoot('bench', name + SUFFIX)],
  outfile: bundle,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  packages: 'external',
  external: ['#lib/*', '#nodes/*', '../scripts/*'],
  plugins: [ownFolders],
  logLevel: 'warning',
});
const { code } = await runNode(['--expose-gc', bundle, ...args], { show: true });
await rm(bundle, { force: true });
process.exitCode = code;
