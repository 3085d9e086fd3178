/** RabbitMQ: a quorum queue with publisher confirms, spoken to in AMQP 0-9-1, as much of it as an appender needs. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Appender } from './load.mjs';
import { findBinary, open, startServer, writer } from './server.mjs';

const [METHOD, HEADER, BODY, FRAME_END] = [1, 2, 3, 0xce];
const QUEUE = 'bench';
const BASIC = 60;
/** Class and method ids, `class << 16 | method`. */
const START = (10 << 16) | 10;
const TUNE = (10 << 16) | 30;
const ACK = (BASIC << 16) | 80;
const START_MS = 60_000;

const u16 = (value: number) => Buffer.from([value >> 8, value & 255]);
const u32 = (value: number) => Buffer.concat([u16(value >>> 16), u16(value & 0xffff)]);
const shortText = (text: string) => Buffer.concat([Buffer.from([text.length]), Buffer.from(text)]);
const longText = (text: string | Buffer) => Buffer.concat([u32(text.length), Buffer.from(text)]);
const frame = (type: number, channel: number, body: Buffer) =>
  Buffer.concat([Buffer.from([type]), u16(channel), u32(body.length), body, Buffer.from([FRAME_END])]);
const method = (channel: number, ids: readonly [number, number], ...args: Buffer[]) =>
  frame(METHOD, channel, Buffer.concat([u16(ids[0]), u16(ids[1]), ...args]));

export async function rabbitmq(dir: string): Promise<Appender | undefined> {
  const binary = findBinary('rabbitmq-server');
  if (!binary) return undefined;
  const server = await startServer(binary, () => [], {
    waitMs: START_MS,
    env: (port) => ({
      HOME: dir,
      ...{ RABBITMQ_NODENAME: `bench-${port}@localhost`, RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1' },
      ...{ RABBITMQ_NODE_PORT: String(port), RABBITMQ_DIST_PORT: String(port + 1) },
      ...{ ERL_EPMD_PORT: String(port + 2), RABBITMQ_MNESIA_BASE: join(dir, 'mnesia') },
      ...{ RABBITMQ_LOG_BASE: join(dir, 'log'), RABBITMQ_PID_FILE: join(dir, 'pid') },
      ...{ RABBITMQ_ENABLED_PLUGINS_FILE: join(dir, 'plugins') },
    }),
  });
  const socket = await open(server.port);
  const write = writer(socket);
  const waiting: (() => void)[] = [];
  let acknowledged = 0;
  let reply: (ids: number, args: Buffer) => void = () => undefined;
  let rest = Buffer.alloc(0);
  socket.on('data', (data) => {
    rest = Buffer.concat([rest, data]);
    for (;;) {
      const bytes = rest.length < 7 ? Infinity : rest.readUInt32BE(3);
      if (rest.length < bytes + 8) return;
      const body = rest.subarray(7, 7 + bytes);
      if (rest[0] === METHOD) {
        const ids = body.readUInt32BE(0);
        if (ids === ACK) confirm(Number(body.readBigUInt64BE(4)), body[12] === 1);
        else reply(ids, body.subarray(4));
      }
      rest = rest.subarray(bytes + 8);
    }
  });
  /** One confirmation may stand for all before it; they come in any order otherwise. */
  const early = new Set<number>();
  function confirm(tag: number, multiple: boolean): void {
    if (!multiple && tag !== acknowledged + 1) return void early.add(tag);
    while (acknowledged < tag || early.delete(acknowledged + 1)) {
      acknowledged += 1;
      early.delete(acknowledged);
      waiting.shift()?.();
    }
  }
  const call = (...parts: Buffer[]) =>
    new Promise<[number, Buffer]>((resolve) => {
      reply = (ids, args) => resolve([ids, args]);
      write(...parts);
    });
  const expectIds = ([ids]: [number, Buffer], wanted: number) => {
    if (ids !== wanted) throw new Error(`RabbitMQ answered ${ids >> 16}.${ids & 0xffff}`);
  };

  expectIds(await call(Buffer.from('AMQP\0\0\x09\x01', 'latin1')), START);
  const login = longText('\0guest\0guest');
  const startOk = method(0, [10, 11], u32(0), shortText('PLAIN'), login, shortText('en_US'));
  expectIds(await call(startOk), TUNE);
  const tuneOk = method(0, [10, 31], u16(1), u32(131_072), u16(0));
  await call(tuneOk, method(0, [10, 40], shortText('/'), shortText(''), Buffer.from([0])));
  await call(method(1, [20, 10], shortText('')));
  const quorum = Buffer.concat([shortText('x-queue-type'), Buffer.from('S'), longText('quorum')]);
  const durable = Buffer.from([0b10]);
  await call(method(1, [50, 10], u16(0), shortText(QUEUE), durable, longText(quorum)));
  await call(method(1, [85, 10], Buffer.from([0])));

  const publish = method(1, [BASIC, 40], u16(0), shortText(''), shortText(QUEUE), Buffer.from([0]));
  const persistent = Buffer.concat([u16(0x1000), Buffer.from([2])]);
  return {
    append: (record) =>
      new Promise<void>((resolve) => {
        waiting.push(resolve);
        const header = Buffer.concat([u16(BASIC), u16(0), u32(0), u32(record.length), persistent]);
        write(publish, frame(HEADER, 1, header), frame(BODY, 1, record));
      }),
    async close() {
      const closed = once(socket, 'close');
      socket.destroy();
      await closed;
      await server.stop();
      // The daemon by which Erlang nodes find each other outlives them.
      const daemon = findBinary('epmd');
      if (daemon) await promisify(execFile)(daemon, ['-port', String(server.port + 2), '-kill']);
    },
  };
}
