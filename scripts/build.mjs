// Builds dist/: the runtime by tsc (CommonJS, not bundled, so that all nodes share one copy of lib), each node's editor
// by esbuild into one html beside its compiled js, and locales and icons where Node-RED looks for them.
//   --clean   from nothing      --quiet   say nothing when there is nothing to do
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { inRoot, root } from './paths.mjs';
import { runNode } from './process.mjs';
import { buildEditor } from './build/editor.mjs';
import { isFresh, markFresh, markStale, pruneCompiled, sourceDigest } from './build/freshness.mjs';
import {
  folderProblems,
  hasEditorHalf,
  listedNodes,
  manifestProblems,
  nodeFolders,
} from './build/manifest.mjs';

const out = inRoot('dist');
const flags = new Set(process.argv.slice(2));

/** @returns {Promise<string[]>} */
async function compileRuntime() {
  const tsc = inRoot('node_modules/typescript/bin/tsc');
  const { code } = await runNode([tsc, '-p', inRoot('tsconfig.build.json')], { show: true });
  return code === 0 ? [] : ['the runtime does not compile'];
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
const problems = await compileRuntime();
await pruneCompiled(root, out);

const types = await nodeFolders(root);
problems.push(...manifestProblems(types, await listedNodes(root)));
problems.push(...types.flatMap((type) => folderProblems(root, type)));
problems.push(...(await buildEditors(types.filter((type) => hasEditorHalf(root, type)))));
if (problems.length > 0) {
  for (const problem of problems) console.error(`build: ${problem}`);
  process.exit(1);
}
await markFresh(out, digest);
console.log(`built ${types.length} nodes`);
