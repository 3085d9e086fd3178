// The tools of `npm run check`. Each step is a command that must exit with 0.
import { inRoot } from '../paths.mjs';
import { runNode } from '../process.mjs';
import { examplesCheck } from './examples.mjs';
import { lockfileCheck } from './lockfile.mjs';
import { manifestCheck } from './manifest.mjs';
import { packCheck } from './pack.mjs';

/**
 * @typedef {object} Step
 * @property {string} name
 * @property {() => Promise<{ code: number, output: string }>} run
 */

/**
 * @param {string} name
 * @param {string} script of a tool, below node_modules
 * @param {readonly string[]} args
 * @returns {Step}
 */
const tool = (name, script, args) => ({
  name,
  run: () => runNode([inRoot('node_modules', script), ...args]),
});

/**
 * @param {string} name
 * @param {() => Promise<readonly string[]>} check gives sentences about what is wrong
 * @returns {Step}
 */
const own = (name, check) => ({
  name,
  async run() {
    const problems = await check();
    return { code: problems.length, output: problems.map((problem) => `${problem}\n`).join('') };
  },
});

/** @param {string} project */
const types = (project) => tool(`types: ${project}`, 'typescript/bin/tsc', ['--noEmit', '-p', project]);

/** The slow ones first, so that they run beside the many short ones. @type {readonly Step[]} */
export const STEPS = [
  tool('lint', 'eslint/bin/eslint.js', ['--max-warnings', '0', '.']),
  types('tsconfig.json'),
  types('tsconfig.editor.json'),
  types('test'),
  types('scripts'),
  tool('format', 'prettier/bin/prettier.cjs', ['--check', '--log-level', 'warn', '.']),
  tool('dead code', 'knip/bin/knip.js', ['--no-progress', '--no-config-hints']),
  tool('rooms and cycles', 'dependency-cruiser/bin/dependency-cruise.mjs', [
    ...['lib', 'nodes', 'scripts', 'test', 'bench'],
    ...['--config', '.dependency-cruiser.cjs', '--output-type', 'err'],
  ]),
  own('package.json', manifestCheck),
  own('package-lock.json', lockfileCheck),
  own('examples', examplesCheck),
  own('pack contents', packCheck),
];
