// Builds dist/: the runtime by tsc (CommonJS, not bundled, so that all nodes share one copy of lib), each node's editor
// by esbuild into one html beside its compiled js, and locales and icons where Node-RED looks for them.
//   --clean   from nothing      --quiet   say nothing when there is nothing to do
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { inRoot, root } from './paths.mjs';
import { runNode } from './process.mjs';
import { buildEditor } from './build/editor.mjs';
import { isFresh, markFresh, markStale, pruneCompiled, sourceDigest } from './build/freshness.mjs';
import { folderProblems, listedNodes, manifestProblems, nodeFolders } from './build/manifest.mjs';

const out = inRoot('dist');
const flags = new Set(process.argv.slice(2));

/** @param {readonly string[]} problems */
function fail(problems) {
  for (const problem of problems) console.error(`build: ${problem}`);
  process.exit(1);
}

async function compileRuntime() {
  const tsc = inRoot('node_modules/typescript/bin/tsc');
  const { code } = await runNode([tsc, '-p', inRoot('tsconfig.build.json')], { show: true });
  if (code !== 0) fail(['the runtime does not compile']);
}

/** @param {readonly string[]} types */
async function buildEditors(types) {
  const results = await Promise.allSettled(
    types.map((type) => buildEditor(root, type, join(out, 'nodes', type))),
  );
  return results.flatMap((result, index) =>
    result.status === 'rejected' ? [`nodes/${types[index]}: ${result.reason.message}`] : [],
  );
}

const digest = await sourceDigest(root);
if (flags.has('--clean')) await rm(out, { recursive: true, force: true });
if (await isFresh(out, digest)) {
  if (!flags.has('--quiet')) console.log('dist/ is up to date');
  process.exit(0);
}
await markStale(out);
await compileRuntime();
await pruneCompiled(root, out);

const types = await nodeFolders(root);
const incomplete = types.flatMap((type) => folderProblems(root, type));
const problems = [...manifestProblems(types, await listedNodes(root)), ...incomplete];
const complete = types.filter((type) => folderProblems(root, type).length === 0);
problems.push(...(await buildEditors(complete)));
if (problems.length > 0) fail(problems);
await markFresh(out, digest);
console.log(`built ${types.length} nodes`);
