import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startChildNodeRed, type ChildNodeRed } from '../harness/child-node-red';
import type { FlowNode } from '../harness/node-red';
import { findPostgres, startPostgres, type PostgresInstance } from '../harness/postgres';
import { tab } from '../harness/probe';
import { randomFrom, type SeededRandom } from '../harness/random';
import type { Senders } from '../harness/senders';
import { entryOf, readStatus } from '../harness/status';
import { sendUnderKills } from '../harness/under-kills';
import { waitFor } from '../harness/wait';
import { webhook } from '../harness/webhook';

const WEBHOOKS = 6000;
const KILLS = 4;
const BATCH_ROWS = 100;
/** Records of the queue that are out at once. */
const MAX_IN_FLIGHT = 256;

const entryAt = async (running: ChildNodeRed, id: string) => entryOf((await readStatus(running)).sinks, id);

const programs = findPostgres();
describe.skipIf(!programs)('O52 webhooks through a push-queue into PostgreSQL', () => {
  let server: PostgresInstance;
  let child: ChildNodeRed | undefined;
  let senders: Senders | undefined;

  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
  });
  beforeEach(() => server.query('DROP TABLE IF EXISTS x; CREATE TABLE x (record text, filler text)'));
  afterEach(async () => {
    senders?.stop();
    await senders?.finished.catch(() => undefined);
    await child?.remove();
    child = senders = undefined;
  });
  afterAll(() => server?.stop());

  const flows = (sink: Record<string, unknown>): FlowNode[] => [
    tab(),
    webhook('orders', { toleranceSecs: 86_400, wires: [['queue']] }),
    { id: 'queue', type: 'push-queue', z: 'tab', queue: 'orders', onFull: 'block', wires: [['sink'], []] },
    {
      ...{ id: 'sink', type: 'postgres-sink', z: 'tab', server: 'db', table: 'x', wires: [[]] },
      ...{ batchRows: BATCH_ROWS, onFull: 'block', ...sink },
    },
    {
      ...{ id: 'db', type: 'sluice-postgres-server', host: '127.0.0.1', port: server.port },
      database: server.database,
      credentials: { username: server.user, password: server.password },
    },
  ];

  const runUnderKills = (running: () => ChildNodeRed, random: () => number, kill: () => Promise<void>) =>
    sendUnderKills({
      ...{ running, random, kill, kills: KILLS, webhooks: WEBHOOKS },
      onSenders: (started) => (senders = started),
    });

  async function stored({ seed }: SeededRandom, what: string) {
    const [found] = await server.query(
      'SELECT count(*)::int AS rows, count(DISTINCT record)::int AS records FROM x',
    );
    const { rows, records } = found as { rows: number; records: number };
    console.log(
      `seed ${seed}: ${what}: ${WEBHOOKS - records} lost, ${rows - records} duplicated, ${KILLS} kills`,
    );
    return { rows, records };
  }

  it('N1 loses none and stores none twice although the server is killed under load, with a key', async () => {
    const random = randomFrom(process.env['SLUICE_TEST_SEED']);
    await server.query('ALTER TABLE x ADD UNIQUE (record)');
    const running = (child = await startChildNodeRed({ flows: flows({ keyColumns: 'record' }) }));
    await runUnderKills(
      () => running,
      random.random,
      async () => {
        await server.kill();
        await server.start();
      },
    );
    expect(await stored(random, 'server killed, with a key')).toEqual({ rows: WEBHOOKS, records: WEBHOOKS });
  }, 180_000);

  it('N1 loses none although the server is killed under load, without a key', async () => {
    const random = randomFrom(process.env['SLUICE_TEST_SEED']);
    const running = (child = await startChildNodeRed({ flows: flows({}) }));
    await runUnderKills(
      () => running,
      random.random,
      async () => {
        await server.kill();
        await server.start();
      },
    );
    const { rows, records } = await stored(random, 'server killed, without a key');
    expect(records).toBe(WEBHOOKS);
    // Each kill can cut off the answer to one batch.
    expect(rows - records).toBeLessThanOrEqual(KILLS * BATCH_ROWS);
  }, 180_000);

  it('O51 O52 N1 loses none and stores none twice although Node-RED is killed under load, with a key', async () => {
    const random = randomFrom(process.env['SLUICE_TEST_SEED']);
    await server.query('ALTER TABLE x ADD UNIQUE (record)');
    let running = (child = await startChildNodeRed({ flows: flows({ keyColumns: 'record' }) }));
    await runUnderKills(
      () => running,
      random.random,
      async () => {
        await running.kill();
        const { userDir, port } = running;
        running = child = await startChildNodeRed({ userDir, port });
        // One that is out at three kills in a row is taken for the one that ends the process, and set aside.
        await waitFor('what was out to be settled', async () => {
          const { forwarded_total: forwarded } = await entryAt(running, 'queue');
          return Number(forwarded) > MAX_IN_FLIGHT;
        });
      },
    );
    expect(await stored(random, 'Node-RED killed, with a key')).toEqual({
      rows: WEBHOOKS,
      records: WEBHOOKS,
    });
  }, 180_000);
});
