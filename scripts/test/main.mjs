import { inRoot } from '../paths.mjs';
import { runNode } from '../process.mjs';
import { prepare } from '../setup/prepare.mjs';
import { findChromium } from './chromium.mjs';

const NO_BROWSER =
  'No Chromium found: install it (Debian: sudo apt-get install chromium) or set CHROMIUM_PATH to one.';

/**
 * Returns vitest's exit status.
 * @param {readonly string[]} args for vitest
 */
export async function main(args) {
  if (!(await prepare())) return 1;
  const chromium = findChromium(process.env);
  const isCI = process.env['CI'] === 'true';
  if (!chromium && isCI) {
    console.error(NO_BROWSER);
    return 1;
  }
  const vitestArgs = [inRoot('node_modules/vitest/vitest.mjs'), 'run', ...args];
  if (!chromium) {
    console.warn(
      `\n!!! ${NO_BROWSER}\n!!! The tests of the editor (test/editor) are left out of this run.\n`,
    );
    vitestArgs.push('--exclude', 'test/editor/**');
  }
  const { code } = await runNode(vitestArgs, {
    show: true,
    env: chromium ? { CHROMIUM_PATH: chromium } : {},
  });
  return code;
}
