// What each record stage costs beside the bare thing it stands on, in the same run, one after the other: the median of
// rounds that take turns, so that what else the machine does falls on both.
import { createRequire } from 'node:module';
import { decodePayload, type DecodeOptions } from '#lib/record/decode';
import { compileSchema } from '#lib/record/schema';
import { compileTemplate } from '#lib/record/template';
import { compileJsonata } from '#nodes/record-transform/record-transform.jsonata';
import { openSql } from '#nodes/record-transform/record-transform.sql';
import type { NodeRED, RuntimeNode } from '#lib/node-red/types';

type Work = () => void | Promise<void>;

interface Line {
  readonly stage: string;
  readonly ours: number;
  /** Microseconds a record of the bare thing; absent where the limit is one in itself. */
  readonly bare?: number;
  readonly limit: number;
}

const ROUNDS = 15;

const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

/** Microseconds a record for each of the works, of `records` records a round. */
async function measure(records: number, works: readonly Work[]): Promise<number[]> {
  const times = works.map((): number[] => []);
  for (let round = -3; round < ROUNDS; round += 1) {
    for (const [index, work] of works.entries()) {
      const started = performance.now();
      await work();
      if (round >= 0) times[index]?.push(((performance.now() - started) * 1000) / records);
    }
  }
  return times.map(median);
}

const require = createRequire(import.meta.url);
const times =
  (count: number, work: () => unknown): Work =>
  () => {
    for (let index = 0; index < count; index += 1) work();
  };

/** About 1 KB, as a reading of a machine is. */
const reading = {
  id: 101,
  device: 'press-7',
  at: '2026-11-30T21:15:00.000Z',
  temp: 21.5,
  dev: -2.25,
  ok: true,
  tags: ['line-2', 'hall-b', 'shift:late'],
  channels: Array.from({ length: 16 }, (_, index) => ({
    n: index,
    value: index * 1.25,
    unit: 'bar',
    state: 'ok',
  })),
  note: 'pressure of the second stage is above its usual range, see the log of the shift',
};
/** About 1 KB, as a shop sends it. */
const order = {
  id: 'ord_01JDXK3V9W8Q2N4R6T7Y0ZABCD',
  number: 100_482,
  created_at: '2026-11-30T21:15:00.000Z',
  currency: 'EUR',
  total: 129.9,
  email: 'maria.oliveira@customers.example',
  customer: {
    id: 88_120,
    first_name: 'Maria',
    last_name: 'Oliveira',
    phone: '+351 912 345 678',
    locale: 'pt-PT',
  },
  shipping_address: {
    street: 'Rua das Flores 128, 3. Esq.',
    postal_code: '4050-262',
    city: 'Porto',
    country: 'Portugal',
  },
  lines: [
    {
      sku: 'TSHIRT-ORG-M-BLUE',
      title: 'Organic cotton t-shirt, medium, ocean blue',
      quantity: 2,
      price: 24.95,
    },
    { sku: 'MUG-ENAMEL-400', title: 'Enamel mug 400 ml, white with blue rim', quantity: 4, price: 20 },
  ],
  note: 'Please ring the bell of the neighbour on the second floor if nobody opens; the parcel must not be left outside.',
  tracking_url: 'https://tracking.example/parcels/PT/ord_01JDXK3V9W8Q2N4R6T7Y0ZABCD?lang=pt',
  tags: ['returning customer', 'newsletter', 'gift wrapping'],
};
const OPTIONS: DecodeOptions = { codec: 'json', compression: 'none', encoding: 'utf-8', maxBytes: 1_048_576 };

async function decode(what: string, document: object): Promise<Line[]> {
  const bytes = Buffer.from(JSON.stringify(document));
  const count = 5000;
  const [bare = 0, ours = 0] = await measure(count, [
    times(count, () => JSON.parse(bytes.toString()) as unknown),
    times(count, () => decodePayload(bytes, OPTIONS)),
  ]);
  return [{ stage: `decode ${bytes.length} bytes of JSON, ${what}`, bare, ours, limit: 1.3 }];
}

async function schema(): Promise<Line[]> {
  const clone = <T,>(value: T) => value;
  const short = compileSchema(
    '{"id":"bigint","temp":"float","dev":"float","device":"string","at":"datetime","ok":"boolean"}',
    { coerce: false, clone },
  );
  const json = compileSchema(
    JSON.stringify({
      type: 'object',
      required: ['id', 'temp'],
      properties: {
        id: { type: 'integer' },
        temp: { type: 'number' },
        dev: { type: 'number' },
        device: { type: 'string' },
        tags: { type: 'array', items: { type: 'string' } },
      },
    }),
    { coerce: false, clone },
  );
  const never = () => false;
  const count = 50_000;
  const [first = 0, second = 0] = await measure(count, [
    times(count, () => short.check(reading, never)),
    times(count, () => json.check(reading, never)),
  ]);
  return [
    { stage: 'schema, short form', ours: first, limit: 2 },
    { stage: 'schema, JSON Schema', ours: second, limit: 2 },
  ];
}

async function template(): Promise<Line[]> {
  const write = compileTemplate('{"sensor":{{id}},"label":"{{device}}","temp":{{temp}}}', {
    output: 'json',
    strict: true,
  });
  const count = 20_000;
  const [ours = 0] = await measure(count, [times(count, () => write(reading))]);
  return [{ stage: 'template to JSON', ours, limit: Infinity }];
}

async function jsonata(): Promise<Line[]> {
  const { util } = require('node-red') as Pick<NodeRED, 'util'>;
  const expression = '{"id": payload.id, "temp": payload.temp, "dev_norm": $abs(payload.dev)}';
  const prepared = util.prepareJSONataExpression(expression, {} as RuntimeNode);
  const evaluate = compileJsonata({ util } as NodeRED, {} as RuntimeNode, expression);
  const msg = { payload: reading };
  const count = 2000;
  const bareOne = () =>
    new Promise<unknown>((resolve, reject) => {
      util.evaluateJSONataExpression(prepared, msg, (error, result) =>
        error ? reject(new Error('it failed')) : resolve(result),
      );
    });
  const repeat =
    (one: () => Promise<unknown>): Work =>
    async () => {
      for (let index = 0; index < count; index += 1) await one();
    };
  const [bare = 0, ours = 0] = await measure(count, [repeat(bareOne), repeat(() => evaluate(msg))]);
  return [{ stage: 'transform, JSONata', bare, ours, limit: 1.2 }];
}

/** What somebody would write by hand for a batch of records. */
const BARE_SQL = `SELECT b.n, row_to_json(r) AS row FROM unnest($1::text[]) WITH ORDINALITY AS b(record, n),
  LATERAL (SELECT id, temp, abs(dev) AS dev_norm
    FROM jsonb_to_record(b.record::jsonb) AS sensor_stream(id bigint, temp double precision, dev double precision)) AS r`;

async function sql(): Promise<Line[]> {
  const expression = 'SELECT id, temp, abs(dev) AS dev_norm FROM sensor_stream';
  const columns = '{"id":"bigint","temp":"float","dev":"float"}';
  const count = 2048;
  const batch = 512;
  const { PGlite } = require('@electric-sql/pglite') as typeof import('@electric-sql/pglite');
  const db = new PGlite();
  const query = BARE_SQL;
  const texts = Array.from({ length: batch }, () =>
    JSON.stringify({ id: reading.id, temp: reading.temp, dev: reading.dev }),
  );
  const bareBatches: Work = async () => {
    for (let done = 0; done < count; done += batch) await db.query(query, [texts]);
  };
  const transform = openSql({ expression, columns, timeoutMs: 60_000 });
  await transform.ready;
  const records: Work = async () => {
    await Promise.all(Array.from({ length: count }, () => transform.run(reading)));
  };
  const [bare = 0, ours = 0] = await measure(count, [bareBatches, records]);
  transform.close();
  await db.close();
  return [{ stage: `transform, SQL in batches of ${batch}`, bare, ours, limit: 1.5 }];
}

const micros = (value: number | undefined) => (value === undefined ? '' : value.toFixed(2));

function row({ stage, ours, bare, limit }: Line) {
  const compared = bare === undefined ? ours : ours / bare;
  const promised = Number.isFinite(limit) ? (bare === undefined ? `<= ${limit} us` : `<= ${limit} x`) : '';
  return {
    stage,
    'bare us': micros(bare),
    'ours us': micros(ours),
    ratio: bare === undefined ? '' : compared.toFixed(2),
    promised,
    kept: promised === '' ? '' : compared <= limit,
  };
}

export async function run(): Promise<void> {
  const lines = [
    ...(await decode('an order', order)),
    ...(await decode('a reading of 16 channels', reading)),
    ...(await schema()),
    ...(await template()),
    ...(await jsonata()),
    ...(await sql()),
  ];
  console.table(lines.map(row));
}

await run();
process.exit(0);
