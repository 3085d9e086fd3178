import { inRoot } from '../paths.mjs';
import { runNode, runNpm } from '../process.mjs';
import { startWaiting } from '../terminal/waiting.mjs';
import { isLink } from './link.mjs';
import { buildAdvice, buildEnv, sameCommand } from './native-build.mjs';

const REBUILD = 'npm rebuild better-sqlite3';

const PROBE = "new (require('better-sqlite3'))(':memory:').close()";

/** Opens a database in a process of its own, since a binary of the wrong kind can end it. */
const probe = () => runNode(['-e', PROBE]);

/**
 * Why the module doesn't load, in a sentence.
 * @param {string} output what the probe said
 */
export function reasonOf(output) {
  if (/NODE_MODULE_VERSION|was compiled against a different/.test(output)) {
    return `better-sqlite3 was built for another version of Node.js than this one (${process.version}).`;
  }
  const cause = output.split('\n').find((line) => line.includes('Error'));
  return `better-sqlite3 cannot be loaded: ${cause?.trim().replace(/:$/, '') ?? 'the probe ended without a message'}`;
}

/** Rebuilds a module that doesn't load, which is all that a change of Node.js needs. Returns false after saying why not. */
export async function ensureNativeModule() {
  const { code, output } = await probe();
  if (code === 0) return true;
  console.error(reasonOf(output));
  if (isLink(inRoot('node_modules'))) {
    console.error(`node_modules is a link. Run:  ${REBUILD}  where it points to.`);
    return false;
  }
  const waiting = startWaiting(`Rebuilding it (${REBUILD})`);
  const rebuilt = await runNpm(['rebuild', 'better-sqlite3', '--foreground-scripts'], { env: buildEnv() });
  const seconds = waiting.end();
  if (rebuilt.code === 0 && (await probe()).code === 0) {
    console.log(`Rebuilt in ${seconds} s; it works.`);
    return true;
  }
  console.error(rebuilt.output.trimEnd());
  console.error(`\n${REBUILD} did not help; its output is above.\n${buildAdvice(rebuilt.output)}`);
  console.error(`Then run:  ${sameCommand()}`);
  return false;
}
