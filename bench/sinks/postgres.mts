import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import copyStreams from 'pg-copy-streams';
import { findPostgres, startPostgres } from '../../test/harness/postgres';
import { postgresSink } from '../../test/harness/postgres-sink';
import { record, type Contest } from './contest.mjs';

const COLUMNS =
  'id bigint, sensor text, at bigint, temp float8, pressure float8, count int, state int, note text, text text';

/** Inserts of `rows` rows, prebuilt and by the sink; undefined on a machine without PostgreSQL. */
export async function postgres(rows: number): Promise<Contest | undefined> {
  const programs = findPostgres();
  if (!programs) return undefined;
  const server = await startPostgres(programs);
  await server.query(`CREATE TABLE x (${COLUMNS})`);
  const records = Array.from({ length: rows }, (_, id) => record(id));
  const names = Object.keys(record(0));
  const body = Buffer.from(records.map((one) => `${Object.values(one).join('\t')}\n`).join(''));
  const { port, user, password, database } = server;
  const client = new pg.Client({ host: '127.0.0.1', port, user, password, database });
  await client.connect();
  const made = postgresSink(server, rows);
  return {
    ways: {
      'bare COPY, prebuilt bytes': async () => {
        const stream = client.query(copyStreams.from(`COPY x (${names.join(', ')}) FROM STDIN`));
        await pipeline(Readable.from([body]), stream);
      },
      'sink, objects': async () => {
        const outcomes = await Promise.all(made.deliver(records));
        if (outcomes.some((outcome) => outcome !== 'done')) throw new Error('a row was not stored');
      },
    },
    empty: async () => {
      await server.query('TRUNCATE x');
    },
    async close() {
      await made.close();
      await client.end();
      await server.stop();
    },
    async insertsForOneBad() {
      const isolating = postgresSink(server, 1000);
      const some: object[] = records.slice(0, 1000);
      some[617] = { ...record(617), count: 'bad' };
      await Promise.all(isolating.deliver(some));
      const inserts = await isolating.inserts();
      await isolating.close();
      return inserts;
    },
  };
}
