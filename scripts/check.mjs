// npm run check: everything that can be told without running the product. A line for each step, and what failed.
//   npm run check -- lint types     only steps whose name contains one of these words
import { availableParallelism } from 'node:os';
import { requireNode } from './setup/node-version.mjs';
import { prepare } from './setup/prepare.mjs';

requireNode();
if (!(await prepare())) process.exit(1);
const { STEPS } = await import('./check/steps.mjs');

const words = process.argv.slice(2);
const waiting = STEPS.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
/** @type {string[]} */
const failed = [];

async function work() {
  for (let step = waiting.shift(); step; step = waiting.shift()) {
    const startedAt = performance.now();
    const { code, output } = await step.run();
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    console.log(`${code === 0 ? 'ok    ' : 'failed'}  ${step.name}  (${seconds} s)`);
    if (code === 0) continue;
    failed.push(step.name);
    console.log(output.trimEnd().replace(/^/gm, '        '));
  }
}

await Promise.all(Array.from({ length: Math.min(3, availableParallelism()) }, work));
console.log(failed.length === 0 ? 'check: all ok' : `check: failed: ${failed.join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;
