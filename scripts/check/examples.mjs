import { readFile, readdir } from 'node:fs/promises';
import { listedNodes } from '../build/manifest.mjs';
import { inRoot, root } from '../paths.mjs';

/** @typedef {{ type: string, credentials?: unknown }} ExampleNode */

/** Sentences about examples that are no flows, start without a comment, carry secrets, or leave out one of our nodes. */
export async function examplesCheck() {
  const files = (await readdir(inRoot('examples'), { recursive: true })).filter((file) =>
    file.endsWith('.json'),
  );
  const used = new Set();
  const problems = [];
  for (const file of files) {
    /** @type {ExampleNode[]} */
    const flow = JSON.parse(await readFile(inRoot('examples', file), 'utf8'));
    for (const { type } of flow) used.add(type);
    if (!flow.some(({ type }) => type === 'comment')) problems.push(`examples/${file} has no comment node`);
    if (flow.some(({ credentials }) => credentials)) problems.push(`examples/${file} has credentials in it`);
  }
  for (const type of Object.keys(await listedNodes(root))) {
    if (!used.has(type)) problems.push(`no example uses ${type}`);
  }
  return problems;
}
