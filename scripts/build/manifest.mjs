// What nodes/ holds against what package.json lists: Node-RED loads only the latter, a user misses the difference.
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** @typedef {{ nodes?: Record<string, string>, plugins?: Record<string, string> }} NodeRedManifest */

/**
 * Names of the folders in nodes/: one per node type or plugin.
 * @param {string} root
 * @returns {Promise<string[]>}
 */
export async function nodeFolders(root) {
  const entries = await readdir(join(root, 'nodes'), { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
}

/**
 * @param {string} root
 * @returns {Promise<Record<string, string>>} type -> compiled file, as package.json lists them
 */
export async function listedNodes(root) {
  const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  /** @type {NodeRedManifest} */
  const { nodes = {}, plugins = {} } = manifest['node-red'] ?? {};
  return { ...nodes, ...plugins };
}

/**
 * Sentences about folders that package.json doesn't list and entries without a folder.
 * @param {readonly string[]} folders
 * @param {Readonly<Record<string, string>>} listed
 */
export function manifestProblems(folders, listed) {
  const problems = [];
  for (const folder of folders) {
    const expected = `dist/nodes/${folder}/${folder}.js`;
    if (listed[folder] === undefined) {
      problems.push(
        `nodes/${folder} is not in package.json: add "${folder}": "${expected}" to node-red.nodes`,
      );
    } else if (listed[folder] !== expected) {
      problems.push(`package.json has ${listed[folder]} for ${folder}, the build writes ${expected}`);
    }
  }
  for (const type of Object.keys(listed)) {
    if (!folders.includes(type)) problems.push(`package.json lists ${type}, but there is no nodes/${type}`);
  }
  return problems;
}

/**
 * What the editor loads of a node is made of these.
 * @param {string} type
 */
const editorFiles = (type) => [
  `nodes/${type}/${type}.editor.ts`,
  `nodes/${type}/${type}.html`,
  `nodes/${type}/locales/en-US/${type}.json`,
  `nodes/${type}/locales/en-US/${type}.help.md`,
  `icons/${type}.svg`,
];

/**
 * @param {string} root
 * @param {string} type
 */
export const hasEditorHalf = (root, type) => editorFiles(type).every((file) => existsSync(join(root, file)));

/**
 * Sentences about files that a node can't be shipped without.
 * @param {string} root
 * @param {string} type
 */
export function folderProblems(root, type) {
  return [`nodes/${type}/${type}.ts`, ...editorFiles(type)]
    .filter((file) => !existsSync(join(root, file)))
    .map((file) => `${file} is missing`);
}
