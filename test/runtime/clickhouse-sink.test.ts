import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Message } from '#lib/node-red/types';
import { hasClickHouse, PASSWORD, startClickHouse, type ClickHouseInstance } from '../harness/clickhouse';
import { startNodeRed, type FlowNode, type RunningNodeRed } from '../harness/node-red';
import { probe, probeNodes, tab, type ProbeSink } from '../harness/probe';
import { entryOf, readStatus } from '../harness/status';
import { waitFor } from '../harness/wait';
import { webhook } from '../harness/webhook';

describe.skipIf(!hasClickHouse('modern'))('a clickhouse-sink in Node-RED', () => {
  let server: ClickHouseInstance;
  let nodeRed: RunningNodeRed;
  const warnings: string[] = [];
  beforeAll(async () => {
    server = await startClickHouse('modern');
    const handler = () => (entry: { msg?: unknown }) => void warnings.push(String(entry.msg));
    nodeRed = await startNodeRed({
      nodesDir: [probeNodes],
      settings: { logging: { test: { level: 'warn', handler } } },
    });
  });
  beforeEach(async () => {
    warnings.length = 0;
    await server.query('DROP TABLE IF EXISTS x');
  });
  afterEach(() => nodeRed.deploy([]));
  afterAll(async () => {
    await nodeRed?.stop();
    await server?.stop();
  });

  const createTable = (window: number) =>
    server.query(
      `CREATE TABLE x (id UInt64, at String DEFAULT 'nowhere') ENGINE = MergeTree ORDER BY id
       SETTINGS non_replicated_deduplication_window = ${window}`,
    );
  /** A webhook may always send more, so that an incomplete batch waits. */
  const flows = (sink: Record<string, unknown> = {}): FlowNode[] => [
    tab(),
    webhook('in', { wires: [['sink']] }),
    {
      ...{ id: 'sink', type: 'clickhouse-sink', z: 'tab', server: 'db', table: 'x', wires: [['out']] },
      ...{ batchRows: 3, batchMs: 60_000, onFull: 'block', ...sink },
    },
    probe('out'),
    {
      ...{ id: 'db', type: 'sluice-clickhouse-server', url: `http://127.0.0.1:${server.port}` },
      credentials: { username: 'default', password: PASSWORD },
    },
  ];
  const receive = (msg: Message) => nodeRed.node('sink').receive(msg);
  const received = () => nodeRed.node<ProbeSink>('out').received;
  const stored = async () => (await server.query('SELECT id FROM x ORDER BY id')).map(({ id }) => Number(id));

  it('on a deploy stores what waits for company before it goes on', async () => {
    await createTable(100);
    await nodeRed.deploy(flows());
    for (const id of [1, 2, 3]) receive({ payload: { id } });
    await waitFor('the first batch', () => received().length === 3);
    for (const id of [4, 5]) receive({ payload: Buffer.from(`{"id":${id}}`) });
    const backlog = async () => entryOf((await readStatus(nodeRed)).sinks, 'sink')['backlog'];
    await waitFor('the rest in the backlog', async () => (await backlog()) === 2);
    await nodeRed.deploy(flows().slice(0, 1));
    expect(await stored()).toEqual([1, 2, 3, 4, 5]);
  });

  it('takes the columns from properties of the message, and leaves out what the message lacks', async () => {
    await createTable(100);
    await nodeRed.deploy(
      flows({ columns: 'id = payload.reading.id\nat = payload.place.name', batchRows: 2 }),
    );
    receive({ payload: { reading: { id: 1 } } });
    receive({ payload: { reading: { id: 2 }, place: { name: 'yard' } } });
    await waitFor('both', () => received().length === 2);
    const rows = await server.query('SELECT toUInt8(id) AS id, at FROM x ORDER BY id');
    expect(rows).toEqual([
      { id: 1, at: 'nowhere' },
      { id: 2, at: 'yard' },
    ]);
  });

  it('N1 warns at its start about a table without a deduplication window, and says what prevents duplicates', async () => {
    await createTable(0);
    await nodeRed.deploy(flows());
    const advice = 'ALTER TABLE x MODIFY SETTING non_replicated_deduplication_window = 1000';
    await waitFor('the warning', () => warnings.some((text) => text.includes(advice)));
    await server.query(advice);
    warnings.length = 0;
    await nodeRed.deploy(flows({ batchRows: 1 }));
    receive({ payload: { id: 1 } });
    await waitFor('the record', () => received().length === 1);
    expect(warnings.filter((text) => text.includes('deduplication'))).toEqual([]);
  });
});
