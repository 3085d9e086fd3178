import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isFree } from '../node-red/ports.mjs';
import { inRoot } from '../paths.mjs';
import { prepare } from '../setup/prepare.mjs';
import { colours } from '../terminal/colour.mjs';
import { ensureEngines } from '../test/engines.mjs';

const DEFAULT_PORT = 8123;
const TABLE = `CREATE TABLE readings (sensor String, temp Float64, at DateTime DEFAULT now())
ENGINE = MergeTree ORDER BY (sensor, at) SETTINGS non_replicated_deduplication_window = 1000`;

/** Runs until it is ended. Returns the exit status. */
export async function main() {
  const port = Number(process.env['PORT'] || DEFAULT_PORT);
  if (!(await prepare())) return 1;
  const missing = await ensureEngines();
  if (missing !== undefined) {
    console.error(`${missing}\n\nThe engine of ClickHouse could not be installed (Linux with glibc, macOS).`);
    return 1;
  }
  if (!(await isFree(port))) {
    console.error(
      `Port ${port} is taken: choose another one with PORT=…, and enter it in the flow's server.`,
    );
    return 1;
  }
  const folder = await mkdtemp(join(tmpdir(), 'sluice-clickhouse-'));
  const engine = spawn(
    process.execPath,
    [inRoot('scripts/clickhouse/engine.mjs'), String(port), folder],
    // A terminal's Ctrl-C goes to this process only, which ends the other in its turn.
    { stdio: ['ignore', 'ignore', 'inherit', 'ipc'], detached: true },
  );
  const ended = new Promise((/** @type {(code: number) => void} */ resolve) =>
    engine.once('exit', (code) => resolve(code ?? 0)),
  );
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(signal, () => engine.kill('SIGKILL'));
  }
  try {
    const isUp = await Promise.race([
      new Promise((/** @type {(up: boolean) => void} */ resolve) =>
        engine.once('message', () => resolve(true)),
      ),
      ended.then(() => false),
    ]);
    if (isUp) {
      await fetch(`http://127.0.0.1:${port}/`, {
        method: 'POST',
        body: TABLE,
        headers: { Authorization: `Basic ${Buffer.from('default:').toString('base64')}` },
      });
      greet(port);
    }
    return await ended;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** @param {number} port */
function greet(port) {
  const { bold, cyan, dim, green } = colours();
  console.log(
    `\n${green('ClickHouse runs.')}  ${bold(cyan(`http://127.0.0.1:${port}`))}, user default, no password\n`,
  );
  console.log(
    'It has the table that the example "clickhouse-sink" fills (in the editor: Import > Examples). To look:\n',
  );
  console.log(
    bold(`curl 'http://default:@127.0.0.1:${port}/' -d 'SELECT * FROM readings FORMAT PrettyCompact'`),
  );
  console.log(dim('\nIts tables are gone when it ends: Ctrl-C.\n'));
}
