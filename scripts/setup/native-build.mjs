// How better-sqlite3, the one dependency with compiled code, is compiled where no prebuilt binary can be had.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** node-gyp could not download Node's headers. */
const HEADERS =
  /gyp ERR!.*(?:network connectivity|nodejs\.org|getaddrinfo|ECONNREFUSED|ETIMEDOUT|status code downloading)/i;

const COMPILER =
  'The queue is kept by better-sqlite3. No prebuilt binary could be had for this machine, so it has to be compiled:\n' +
  '  Debian, Ubuntu:  sudo apt-get install python3 make g++\n' +
  '  Fedora:          sudo dnf install python3 make gcc-c++\n' +
  '  Alpine:          apk add python3 make g++\n' +
  '  macOS:           xcode-select --install';

const NETWORK =
  'The queue is kept by better-sqlite3. No prebuilt binary could be had for this machine, and compiling it needs the\n' +
  'headers of Node.js, which could not be downloaded from nodejs.org. Either make that address reachable (behind a\n' +
  'proxy: npm config set https-proxy http://…), or install the headers and name the folder that has include/node:\n' +
  '  npm config set nodedir /usr';

/**
 * What npm gets to know so that compiling needs no download: the headers that this very Node.js came with.
 * @param {string} [execPath]
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {NodeJS.ProcessEnv}
 */
export function buildEnv(execPath = process.execPath, env = process.env) {
  const prefix = dirname(dirname(execPath));
  if (env['npm_config_nodedir'] || !existsSync(join(prefix, 'include/node/node.h'))) return {};
  return { npm_config_nodedir: prefix };
}

/**
 * What is missing, when compiling has failed.
 * @param {string} output of npm
 */
export const buildAdvice = (output) => (HEADERS.test(output) ? NETWORK : COMPILER);

/**
 * The command that was given, to be given again.
 * @param {string} [script] the npm script that runs
 */
export function sameCommand(script = process.env['npm_lifecycle_event']) {
  if (!script) return 'the same command';
  return script === 'start' || script === 'test' ? `npm ${script}` : `npm run ${script}`;
}
