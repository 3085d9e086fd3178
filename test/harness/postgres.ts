import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { freePort } from '../../scripts/node-red/ports.mjs';
import { waitFor } from './wait';

const run = promisify(execFile);
/** `nobody`: the server refuses to run as root. */
const UNPRIVILEGED = 65_534;

/** The folder of PostgreSQL's programs, or undefined on a machine without them. In CI their absence is an error: throws. */
export function findPostgres(): string | undefined {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    ...versions.map((version) => join(debian, version, 'bin')),
    ...(process.env['PATH'] ?? '').split(':'),
  ];
  const found = folders.find((folder) => existsSync(join(folder, 'initdb')));
  if (!found && process.env['CI'] === 'true') throw new Error('PostgreSQL is missing: install it in .ci/run');
  return found;
}

export interface PostgresInstance {
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** Runs SQL as the owner of everything; resolves to the rows of the last statement. */
  query(sql: string): Promise<Record<string, unknown>[]>;
  /** Ends the server as a crash does. */
  kill(): Promise<void>;
  /** Starts it again after `kill`, on the same port and data. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** A private server on a free loopback port, with a data folder of its own. */
export async function startPostgres(programs: string): Promise<PostgresInstance> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-postgres-'));
  const isRoot = process.getuid?.() === 0;
  const as = isRoot ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {};
  const passwords = join(folder, 'password');
  await writeFile(passwords, 'it-is-a-password');
  if (isRoot) for (const path of [folder, passwords]) await chown(path, UNPRIVILEGED, UNPRIVILEGED);
  const data = join(folder, 'data');
  const options = [
    '--username=owner',
    '--auth=scram-sha-256',
    `--pwfile=${passwords}`,
    '--no-sync',
    '-E',
    'UTF8',
  ];
  await run(join(programs, 'initdb'), [...options, '--locale=C', '-D', data], { ...as, cwd: folder });

  const port = await freePort();
  const account = { user: 'owner', password: 'it-is-a-password', database: 'postgres' };
  let server: ChildProcess | undefined;

  const query = async (sql: string) => {
    const client = new pg.Client({ host: '127.0.0.1', port, ...account });
    await client.connect();
    try {
      const results = [await client.query(sql)].flat();
      return (results.at(-1)?.rows ?? []) as Record<string, unknown>[];
    } finally {
      await client.end();
    }
  };
  const start = async () => {
    const settings = [
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      'fsync=off',
      'max_connections=40',
    ];
    server = spawn(
      join(programs, 'postgres'),
      ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])],
      { ...as, cwd: folder, stdio: 'ignore' },
    );
    await waitFor(
      'PostgreSQL',
      () =>
        query('SELECT 1').then(
          () => true,
          () => false,
        ),
      30_000,
    );
  };
  const end = async (signal: NodeJS.Signals) => {
    const ending = server;
    server = undefined;
    if (!ending || ending.exitCode !== null) return;
    const ended = new Promise((resolve) => ending.once('exit', resolve));
    ending.kill(signal);
    await ended;
  };
  await start();
  return {
    port,
    ...account,
    query,
    start,
    kill: () => end('SIGQUIT'),
    async stop() {
      await end('SIGINT');
      await rm(folder, { recursive: true, force: true });
    },
  };
}
