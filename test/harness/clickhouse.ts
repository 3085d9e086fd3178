import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { freePort } from '../../scripts/node-red/ports.mjs';
import { waitFor } from './wait';

const root = resolve(import.meta.dirname, '../..');
const OLD_SERVER = '/usr/sbin/clickhouse-server';
export const PASSWORD = 'it-is-a-password';

export type ClickHouseKind = 'modern' | 'old';

/** `modern`: 26.7, the engine of chdb. `old`: 18.16, Debian's server. In CI a missing one is an error: throws. */
export function hasClickHouse(kind: ClickHouseKind): boolean {
  const path = kind === 'old' ? OLD_SERVER : join(root, 'test/engines/node_modules/chdb');
  const isThere = existsSync(path);
  if (!isThere && process.env['CI'] === 'true') {
    const advice = kind === 'old' ? 'install clickhouse-server in .ci/run' : 'npm test installs test/engines';
    throw new Error(`ClickHouse (${kind}) is missing: ${advice}`);
  }
  return isThere;
}

export interface ClickHouseInstance {
  readonly kind: ClickHouseKind;
  readonly port: number;
  /** Runs one statement as the owner of everything; resolves to its rows. Rejects with the server's text. */
  query(sql: string): Promise<Record<string, unknown>[]>;
  /** Ends the server as a crash does. */
  kill(): Promise<void>;
  /** Starts it again after `kill`, on the same port and data. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

const usersOf = (users: Readonly<Record<string, string>>) =>
  Object.entries(users)
    .map(
      ([name, profile]) =>
        `<${name}><password>${PASSWORD}</password><networks><ip>127.0.0.1</ip></networks>` +
        `<profile>${profile}</profile><quota>default</quota></${name}>`,
    )
    .join('');

async function writeConfig(folder: string, port: number): Promise<string> {
  const file = join(folder, 'config.xml');
  await writeFile(
    file,
    `<?xml version="1.0"?><yandex><logger><level>none</level><console>1</console></logger>
    <http_port>${port}</http_port><listen_host>127.0.0.1</listen_host>
    <path>${folder}/data/</path><tmp_path>${folder}/tmp/</tmp_path>
    <mark_cache_size>67108864</mark_cache_size><users_config>users.xml</users_config>
    <default_profile>default</default_profile><default_database>default</default_database></yandex>`,
  );
  await writeFile(
    join(folder, 'users.xml'),
    `<?xml version="1.0"?><yandex>
    <profiles><default/><readonly><readonly>1</readonly></readonly></profiles><quotas><default/></quotas>
    <users>${usersOf({ default: 'default', reader: 'readonly' })}</users></yandex>`,
  );
  return file;
}

/** A private server on a free loopback port, with a data folder of its own. */
export async function startClickHouse(kind: ClickHouseKind): Promise<ClickHouseInstance> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-clickhouse-'));
  await chmod(folder, 0o755);
  await mkdir(join(folder, 'data'));
  await mkdir(join(folder, 'tmp'));
  const port = await freePort();
  const config = await writeConfig(folder, port);
  let server: ChildProcess | undefined;

  const query = async (sql: string) => {
    const response = await fetch(`http://127.0.0.1:${port}/?default_format=JSONEachRow`, {
      method: 'POST',
      body: sql,
      headers: { Authorization: `Basic ${Buffer.from(`default:${PASSWORD}`).toString('base64')}` },
    });
    const text = await response.text();
    if (!response.ok) throw new Error(text);
    const lines = text.split('\n').filter((line) => line !== '');
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  };
  const start = async () => {
    server =
      kind === 'old'
        ? spawn(OLD_SERVER, [`--config-file=${config}`], { cwd: folder, stdio: 'ignore' })
        : spawn(
            process.execPath,
            [
              join(root, 'scripts/clickhouse/engine.mjs'),
              String(port),
              join(folder, 'data'),
              ...['default', PASSWORD],
            ],
            { stdio: 'ignore' },
          );
    const isUp = () =>
      query('SELECT 1').then(
        () => true,
        () => false,
      );
    await waitFor(`ClickHouse (${kind})`, isUp, 30_000);
  };
  const end = async (signal: NodeJS.Signals) => {
    const ending = server;
    server = undefined;
    if (!ending || ending.exitCode !== null) return;
    const ended = new Promise((done) => ending.once('exit', done));
    ending.kill(signal);
    await ended;
  };
  await start();
  return {
    ...{ kind, port, query, start },
    kill: () => end('SIGKILL'),
    async stop() {
      await end('SIGKILL');
      await rm(folder, { recursive: true, force: true });
    },
  };
}
