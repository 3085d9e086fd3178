import { spawn } from 'node:child_process';
import { root } from './paths.mjs';

/**
 * @typedef {object} RunOptions
 * @property {boolean} [show] let the command write to this terminal instead of collecting what it says
 * @property {NodeJS.ProcessEnv} [env] added to this process's environment
 * @property {string} [cwd] default: the checkout
 * @property {(text: string) => void} [onOutput] gets stdout and stderr as they come; nothing with `show`
 *
 * @typedef {object} RunResult
 * @property {number} code exit status; 1 for a command that a signal ended or that could not be started
 * @property {string} stdout
 * @property {string} output stdout and stderr as they came; empty with `show`
 */

/**
 * Runs a command to its end. Never rejects.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {RunOptions} [options]
 * @returns {Promise<RunResult>}
 */
export function run(command, args, { show = false, env = {}, cwd = root, onOutput } = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: show ? 'inherit' : ['ignore', 'pipe', 'pipe'],
      shell: process.platform === 'win32' && command === 'npm',
    });
    let stdout = '';
    let output = '';
    const hear = (/** @type {string} */ text) => {
      output += text;
      onOutput?.(text);
    };
    child.stdout?.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
      stdout += text;
      hear(text);
    });
    child.stderr?.setEncoding('utf8').on('data', hear);
    child.on('error', (error) => resolve({ code: 1, stdout, output: `${output}${error.message}\n` }));
    child.on('close', (code) => resolve({ code: code ?? 1, stdout, output }));
  });
}

/**
 * @param {readonly string[]} args
 * @param {RunOptions} [options]
 */
export const runNode = (args, options) => run(process.execPath, args, options);

/**
 * npm, by the very copy that runs this script if there is one.
 * @param {readonly string[]} args
 * @param {RunOptions} [options]
 */
export function runNpm(args, options) {
  const cli = process.env['npm_execpath'];
  return cli?.endsWith('.js') ? runNode([cli, ...args], options) : run('npm', args, options);
}
