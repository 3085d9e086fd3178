import { existsSync } from 'node:fs';
import { inRoot } from '../paths.mjs';
import { runNode } from '../process.mjs';
import { prepare } from '../setup/prepare.mjs';
import { findChromium } from './chromium.mjs';
import { ensureEngines } from './engines.mjs';

const NO_BROWSER =
  'No Chromium found: install it (Debian: sudo apt-get install chromium) or set CHROMIUM_PATH to one.';

const NO_ENGINES =
  'test/engines could not be installed. The tests of the modern ClickHouse and of the dashboard are left out of this run.';
const CLICKHOUSE_SERVER = '/usr/sbin/clickhouse-server';
const NO_CLICKHOUSE =
  'No ClickHouse server found (Debian: sudo apt-get install clickhouse-server). The tests against 18.16 are left out of this run.';

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
  const missingEngines = await ensureEngines();
  if (missingEngines !== undefined) {
    console.warn(`\n${missingEngines}\n!!! ${NO_ENGINES}\n`);
    if (isCI) return 1;
  }
  if (!existsSync(CLICKHOUSE_SERVER) && !isCI) console.warn(`\n!!! ${NO_CLICKHOUSE}\n`);
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
