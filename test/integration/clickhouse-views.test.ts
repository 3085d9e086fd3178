import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hasClickHouse, startClickHouse, type ClickHouseInstance } from '../harness/clickhouse';
import { clickhouseSink } from '../harness/clickhouse-sink';
import { waitFor } from '../harness/wait';

const ROWS = [
  { id: 1, s: '1' },
  { id: 2, s: 'bad' },
  { id: 3, s: '3' },
  { id: 4, s: '4' },
];

describe.skipIf(!hasClickHouse('modern'))('a ClickHouse sink whose table feeds a materialized view', () => {
  let server: ClickHouseInstance;
  let close: (() => Promise<void>) | undefined;
  beforeAll(async () => (server = await startClickHouse('modern')));
  beforeEach(async () => {
    for (const name of ['v', 'x', 'y']) await server.query(`DROP TABLE IF EXISTS ${name}`);
    await server.query('CREATE TABLE y (id UInt64, n UInt8) ENGINE = MergeTree ORDER BY id');
  });
  afterEach(async () => {
    await close?.();
    close = undefined;
  });
  afterAll(() => server?.stop());

  const createTable = (window: number) =>
    server.query(
      `CREATE TABLE x (id UInt64, s String) ENGINE = MergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = ${window}`,
    );
  const createView = (convert: string) =>
    server.query(`CREATE MATERIALIZED VIEW v TO y AS SELECT id, ${convert}(s) AS n FROM x`);
  const stored = async (table: string) =>
    (await server.query(`SELECT id FROM ${table} ORDER BY id`)).map(({ id }) => Number(id));

  it('N1 keeps a batch that a view refuses, says which, and stores it once everywhere when the view is mended', async () => {
    await createTable(100);
    await createView('toUInt8');
    const made = clickhouseSink(server, ROWS.length);
    close = made.close;
    const deliveries = made.deliver(ROWS);
    await waitFor('the alert', () => made.alerts.told.some(({ kind }) => kind === 'fault'));
    expect(made.sink.fault).toMatchObject({
      code: 'ERR_SLUICE_CLICKHOUSE_TABLE',
      failure: 'config',
      message: expect.stringContaining('view default.v') as string,
    });
    await server.query('DROP TABLE v');
    await createView('toUInt8OrZero');
    expect(await Promise.all(deliveries)).toEqual(ROWS.map(() => 'done'));
    expect(await stored('x')).toEqual([1, 2, 3, 4]);
    expect(await stored('y')).toEqual([1, 2, 3, 4]);
  });

  it('N1 stores equal records as often as they come, with tokens and without', async () => {
    for (const dedup of [true, false]) {
      await server.query('DROP TABLE IF EXISTS x');
      await createTable(100);
      const made = clickhouseSink(server, 1, { dedup });
      const outcomes = await Promise.all(made.deliver([{ id: 1 }, { id: 1 }, { id: 1 }]));
      expect(outcomes).toEqual(['done', 'done', 'done']);
      expect(await stored('x'), dedup ? 'with a token' : 'without a token').toEqual([1, 1, 1]);
      await made.close();
    }
  });

  it('takes the batch apart where the table can not tell that it comes again: trying for ever would store it for ever', async () => {
    await createTable(0);
    await createView('toUInt8');
    const made = clickhouseSink(server, ROWS.length);
    close = made.close;
    const outcomes = await Promise.all(made.deliver(ROWS));
    expect(outcomes.map((outcome) => outcome === 'done')).toEqual([true, false, true, true]);
    expect(await stored('y')).toEqual([1, 3, 4]);
  });
});
