import { runNode } from '../process.mjs';

/** What to do about better-sqlite3, the one dependency with compiled code. */
export const NATIVE_ADVICE = {
  build:
    'The queue is kept by better-sqlite3. No prebuilt binary could be had for this machine, so it has to be compiled:\n' +
    '  Debian, Ubuntu:  sudo apt-get install python3 make g++\n' +
    '  Fedora:          sudo dnf install python3 make gcc-c++\n' +
    '  Alpine:          apk add python3 make g++\n' +
    '  macOS:           xcode-select --install\n' +
    'Then run:  npm rebuild better-sqlite3',
  otherNode:
    `better-sqlite3 was built for another version of Node.js than this one (${process.version}).\n` +
    'Run:  npm rebuild better-sqlite3\n' +
    '(it needs python3, make and g++ where no prebuilt binary can be had)',
};

const PROBE = "new (require('better-sqlite3'))(':memory:').close()";

/**
 * The advice for a failed probe.
 * @param {string} output what the probe said
 */
export function adviceFor(output) {
  return /NODE_MODULE_VERSION|was compiled against a different/.test(output)
    ? NATIVE_ADVICE.otherNode
    : NATIVE_ADVICE.build;
}

/** Opens a database in a process of its own, since a binary of the wrong kind can end it. Returns false after saying why. */
export async function ensureNativeModule() {
  const { code, output } = await runNode(['-e', PROBE]);
  if (code === 0) return true;
  const cause = output.split('\n').find((line) => line.includes('Error'));
  console.error(`better-sqlite3 cannot be loaded: ${cause?.trim() ?? 'the probe ended without a message'}`);
  console.error(adviceFor(output));
  return false;
}
