import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startSilentServer } from '../harness/silent-server';
import { startNodeRed, type FlowNode, type RunningNodeRed } from '../harness/node-red';
import { findPostgres, startPostgres, type PostgresInstance } from '../harness/postgres';
import { probe, probeNodes, tab, type ProbeSink } from '../harness/probe';
import { entryOf, readStatus } from '../harness/status';
import { waitFor } from '../harness/wait';
import { webhook } from '../harness/webhook';

const programs = findPostgres();
describe.skipIf(!programs)('a postgres-sink in Node-RED', () => {
  let server: PostgresInstance;
  let nodeRed: RunningNodeRed;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
    nodeRed = await startNodeRed({ nodesDir: [probeNodes] });
  });
  beforeEach(() => server.query('DROP TABLE IF EXISTS x; CREATE TABLE x (id int)'));
  afterEach(() => nodeRed.deploy([]));
  afterAll(async () => {
    await nodeRed?.stop();
    await server?.stop();
  });

  /** A webhook may always send more, so that an incomplete batch waits. */
  const flows = (port = server.port, sink: Record<string, unknown> = {}): FlowNode[] => [
    tab(),
    webhook('in', { wires: [['sink']] }),
    {
      ...{ id: 'sink', type: 'postgres-sink', z: 'tab', server: 'db', table: 'x', wires: [['out']] },
      ...{ batchRows: 3, batchMs: 60_000, onFull: 'block', ...sink },
    },
    probe('out'),
    {
      ...{ id: 'db', type: 'sluice-postgres-server', host: '127.0.0.1', port },
      database: server.database,
      credentials: { username: server.user, password: server.password },
    },
  ];
  const send = (...ids: number[]) => {
    for (const id of ids) nodeRed.node('sink').receive({ payload: { id } });
  };
  const stored = async () => (await server.query('SELECT id FROM x ORDER BY id')).map(({ id }) => id);
  const backlog = async () => entryOf((await readStatus(nodeRed)).sinks, 'sink')['backlog'];

  it('on a deploy stores what waits for company, over the connection it has, before it goes on', async () => {
    await nodeRed.deploy(flows());
    send(1, 2, 3);
    await waitFor('the first batch', async () => (await stored()).length === 3);
    await waitFor('its messages', () => nodeRed.node<ProbeSink>('out').received.length === 3);
    send(4, 5);
    await waitFor('the rest in the backlog', async () => (await backlog()) === 2);
    const startedAt = performance.now();
    await nodeRed.deploy(flows().slice(0, 1));
    expect(await stored()).toEqual([1, 2, 3, 4, 5]);
    expect(performance.now() - startedAt).toBeLessThan(5000);
  });

  it('on a deploy stores several batches, one of which is under way', async () => {
    await nodeRed.deploy(flows());
    await server.query(`CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.2); RETURN NULL; END $$;
      CREATE TRIGGER slow BEFORE INSERT ON x FOR EACH STATEMENT EXECUTE FUNCTION slow()`);
    send(1, 2, 3, 4, 5, 6, 7, 8);
    await nodeRed.deploy(flows().slice(0, 1));
    expect(await stored()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('on a deploy gives back what it can not store, although the host never answers', async () => {
    const silent = await startSilentServer();
    await nodeRed.deploy(flows(silent.port));
    send(1, 2, 3, 4, 5, 6, 7);
    await waitFor('the attempt', () => silent.connections > 0);
    const startedAt = performance.now();
    await nodeRed.deploy(flows(silent.port).slice(0, 1));
    expect(performance.now() - startedAt).toBeLessThan(13_000);
    await silent.close();
  }, 60_000);

  it('takes the columns from properties of the message, and leaves out what the message lacks', async () => {
    await server.query('ALTER TABLE x ADD at text, ADD unit text DEFAULT $$none$$');
    const columns = 'id = payload.reading.id\nat = topic\nunit = payload.reading.unit.name';
    await nodeRed.deploy(flows(server.port, { columns, batchRows: 1 }));
    nodeRed.node('sink').receive({ topic: 'hall', payload: { reading: { id: 1 } } });
    nodeRed.node('sink').receive({ topic: 'yard', payload: { reading: { id: 2, unit: { name: 'K' } } } });
    await waitFor('both', () => nodeRed.node<ProbeSink>('out').received.length === 2);
    expect(await server.query('SELECT * FROM x ORDER BY id')).toEqual([
      { id: 1, at: 'hall', unit: 'none' },
      { id: 2, at: 'yard', unit: 'K' },
    ]);
  });

  it('does not start with a path that is no property, and keeps what comes all the same', async () => {
    const ended: unknown[] = [];
    nodeRed.RED.hooks.add('onComplete.columns', ({ node, error }) => {
      if (node.id === 'sink') ended.push(error);
    });
    await nodeRed.deploy(flows(server.port, { columns: 'id = payload.[' }));
    send(1);
    await waitFor('the refusal', () => ended.length > 0);
    nodeRed.RED.hooks.remove('onComplete.columns');
    expect(ended[0]).toMatchObject({ code: 'ERR_SLUICE_CONFIG_INVALID' });
    expect(await stored()).toEqual([]);
  });
});
