import { execFile } from 'node:child_process';
import { chown, mkdir, readdir, chmod } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { pause, type Appender } from './load.mjs';
import { findBinary, open, startServer } from './server.mjs';

const DEBIAN = '/usr/lib/postgresql';
/** Whoever `nobody` is: PostgreSQL won't run as root. */
const NOBODY = 65_534;

async function binDir(): Promise<string | undefined> {
  const versions = await readdir(DEBIAN).catch(() => []);
  const newest = versions.sort((a, b) => Number(b) - Number(a))[0];
  return newest === undefined ? findBinary('initdb')?.replace(/\/initdb$/, '') : join(DEBIAN, newest, 'bin');
}

const int32 = (...values: number[]) => {
  const out = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) out.writeInt32BE(value, 4 * index);
  return out;
};
const int16 = (...values: number[]) => {
  const out = Buffer.alloc(2 * values.length);
  for (const [index, value] of values.entries()) out.writeInt16BE(value, 2 * index);
  return out;
};
const text = (value: string) => Buffer.from(`${value}\0`);
const message = (type: string, ...parts: Buffer[]) => {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
};
const sync = message('S');

/** One array of bytea in binary. */
function array(records: readonly Buffer[]): Buffer {
  const BYTEA = 17;
  return Buffer.concat([
    int32(1, 0, BYTEA, records.length, 1),
    ...records.flatMap((record) => [int32(record.length), record]),
  ]);
}

/** PostgreSQL: all that waits goes into one INSERT, one at a time. */
export async function postgres(dir: string): Promise<Appender | undefined> {
  const bin = await binDir();
  if (bin === undefined) return undefined;
  const uid = userInfo().uid === 0 ? NOBODY : undefined;
  const as = uid === undefined ? {} : { uid, gid: uid };
  const data = join(dir, 'data');
  await mkdir(data);
  if (uid !== undefined) {
    await chmod(dir, 0o755);
    await chown(data, uid, uid);
  }
  const options = ['-D', data, '-A', 'trust', '-U', 'bench', '--no-sync'];
  await promisify(execFile)(join(bin, 'initdb'), options, { ...as, cwd: data });
  const server = await startServer(
    join(bin, 'postgres'),
    (port) => ['-D', data, '-h', '127.0.0.1', '-p', String(port), '-k', data],
    uid === undefined ? {} : { uid },
  );
  const ready = async () => {
    const asked = promisify(execFile)(join(bin, 'pg_isready'), [
      '-h',
      '127.0.0.1',
      '-p',
      String(server.port),
    ]);
    return asked.then(
      () => true,
      () => false,
    );
  };
  while (!(await ready())) await pause(100);
  const socket = await open(server.port);
  let answered: () => void = () => undefined;
  let rest = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 5) {
      const end = 1 + rest.readInt32BE(1);
      if (rest.length < end) break;
      const type = String.fromCharCode(rest[0] ?? 0);
      if (type === 'E') throw new Error(rest.toString('latin1', 5, end));
      rest = rest.subarray(end);
      if (type === 'Z') answered();
    }
  });
  const ask = (...messages: Buffer[]) =>
    new Promise<void>((resolve) => {
      answered = resolve;
      socket.write(Buffer.concat(messages));
    });
  const start = Buffer.concat([
    int32(196_608),
    text('user'),
    text('bench'),
    text('database'),
    text('postgres'),
    text(''),
  ]);
  await ask(int32(start.length + 4), start);
  await ask(message('Q', text('CREATE TABLE q(id bigserial PRIMARY KEY, data bytea NOT NULL)')));
  await ask(
    message('P', text('put'), text('INSERT INTO q(data) SELECT unnest($1::bytea[])'), int16(0)),
    sync,
  );
  let waiting: { record: Buffer; resolve: () => void }[] = [];
  let busy = false;
  const flush = async () => {
    if (busy) return;
    busy = true;
    while (waiting.length > 0) {
      const group = waiting;
      waiting = [];
      const parameter = array(group.map(({ record }) => record));
      await ask(
        message('B', text(''), text('put'), int16(1, 1, 1), int32(parameter.length), parameter, int16(0)),
        message('E', text(''), int32(0)),
        sync,
      );
      for (const { resolve } of group) resolve();
      await new Promise((resolve) => setImmediate(resolve));
    }
    busy = false;
  };
  return {
    append: (record) =>
      new Promise<void>((resolve) => {
        waiting.push({ record, resolve });
        if (waiting.length === 1) setImmediate(() => void flush());
      }),
    async close() {
      socket.destroy();
      await server.stop();
    },
  };
}
