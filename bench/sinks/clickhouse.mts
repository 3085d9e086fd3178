import { createClient } from '@clickhouse/client';
import { PASSWORD, startClickHouse, type ClickHouseKind } from '../../test/harness/clickhouse';
import { clickhouseSink } from '../../test/harness/clickhouse-sink';
import { record, type Contest } from './contest.mjs';

/** Room for all columns that a reading of some machine has, about 1 KB as JSON. */
const COLUMNS =
  'id UInt64, sensor String, at DateTime, temp Float64, pressure Float64, count UInt32, state UInt8, note String, text String';

/** Inserts of `rows` rows in several ways, each into an empty table of one ClickHouse. A queue gives its records as bytes: who wants objects parses them. */
export async function clickhouse(kind: ClickHouseKind, rows: number): Promise<Contest> {
  const server = await startClickHouse(kind);
  await server.query(`CREATE TABLE x (${COLUMNS}) ENGINE = MergeTree ORDER BY id`);
  const records = Array.from({ length: rows }, (_, id) => record(id));
  const payloads = records.map((one) => Buffer.from(JSON.stringify(one)));
  const body = Buffer.concat(payloads.flatMap((payload) => [payload, Buffer.from('\n')]));
  const client = createClient({
    url: `http://127.0.0.1:${server.port}`,
    username: 'default',
    password: PASSWORD,
  });
  const url = `http://127.0.0.1:${server.port}/?query=${encodeURIComponent('INSERT INTO x FORMAT JSONEachRow')}`;
  const authorization = `Basic ${Buffer.from(`default:${PASSWORD}`).toString('base64')}`;
  const sinks = [true, false].map((checkValues) =>
    clickhouseSink(server, rows, { checkValues, insertTimeoutMs: 60_000 }),
  );
  const viaSink = (index: number) => async () => {
    const outcomes = await Promise.all(sinks[index]?.deliver(payloads) ?? []);
    if (outcomes.some((outcome) => outcome !== 'done')) throw new Error('a row was not stored');
  };
  return {
    ways: {
      'bare insert, prebuilt bytes': async () => {
        const answer = await fetch(url, { method: 'POST', body, headers: { authorization } });
        if (!answer.ok) throw new Error(await answer.text());
        await answer.arrayBuffer();
      },
      'client.insert(objects)': async () => {
        await client.insert({ table: 'x', values: records, format: 'JSONEachRow' });
      },
      'client.insert(objects), parsed first': async () => {
        const values = payloads.map((payload) => JSON.parse(payload.toString()) as object);
        await client.insert({ table: 'x', values, format: 'JSONEachRow' });
      },
      'sink, checkValues on': viaSink(0),
      'sink, checkValues off': viaSink(1),
    },
    empty: async () => {
      await server.query('TRUNCATE TABLE x');
    },
    async close() {
      await Promise.all(sinks.map(({ close }) => close()));
      await client.close();
      await server.stop();
    },
    async insertsForOneBad() {
      const made = clickhouseSink(server, 1000, {});
      const some = payloads.slice(0, 1000);
      some[617] = Buffer.from('{"id":"bad"}');
      await Promise.all(made.deliver(some));
      const inserts = await made.inserts();
      await made.close();
      return inserts;
    },
  };
}
