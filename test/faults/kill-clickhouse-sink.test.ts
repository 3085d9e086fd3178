import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startChildNodeRed, type ChildNodeRed } from '../harness/child-node-red';
import {
  hasClickHouse,
  PASSWORD,
  startClickHouse,
  type ClickHouseInstance,
  type ClickHouseKind,
} from '../harness/clickhouse';
import type { FlowNode } from '../harness/node-red';
import { tab } from '../harness/probe';
import { randomFrom } from '../harness/random';
import type { Senders } from '../harness/senders';
import { sendUnderKills } from '../harness/under-kills';
import { webhook } from '../harness/webhook';

const WEBHOOKS = 6000;
const KILLS = 4;
const BATCH_ROWS = 100;

describe.each<ClickHouseKind>(['modern', 'old'])(
  'O52 webhooks through a push-queue into ClickHouse, %s server',
  (kind) => {
    describe.skipIf(!hasClickHouse(kind))('is there', () => {
      let server: ClickHouseInstance;
      let child: ChildNodeRed | undefined;
      let senders: Senders | undefined;

      beforeAll(async () => {
        server = await startClickHouse(kind);
        const window = kind === 'modern' ? ' SETTINGS non_replicated_deduplication_window = 1000' : '';
        await server.query(
          `CREATE TABLE x (record String, filler String) ENGINE = MergeTree ORDER BY record${window}`,
        );
      });
      afterEach(async () => {
        senders?.stop();
        await senders?.finished.catch(() => undefined);
        await child?.remove();
      });
      afterAll(() => server?.stop());

      const flows = (): FlowNode[] => [
        tab(),
        webhook('orders', { toleranceSecs: 86_400, codec: 'buffer', wires: [['queue']] }),
        {
          id: 'queue',
          type: 'push-queue',
          z: 'tab',
          queue: 'orders',
          onFull: 'block',
          wires: [['sink'], []],
        },
        {
          ...{ id: 'sink', type: 'clickhouse-sink', z: 'tab', server: 'db', table: 'x', wires: [[]] },
          ...{ batchRows: BATCH_ROWS, onFull: 'block' },
        },
        {
          ...{ id: 'db', type: 'sluice-clickhouse-server', url: `http://127.0.0.1:${server.port}` },
          credentials: { username: 'default', password: PASSWORD },
        },
      ];

      it('N1 loses none although the server is killed under load, and stores none twice where it knows tokens', async () => {
        const random = randomFrom(process.env['SLUICE_TEST_SEED']);
        const running = (child = await startChildNodeRed({ flows: flows() }));
        await sendUnderKills({
          ...{ running: () => running, random: random.random, kills: KILLS, webhooks: WEBHOOKS },
          kill: async () => {
            await server.kill();
            await server.start();
          },
          onSenders: (started) => (senders = started),
        });
        const [found] = await server.query('SELECT count() AS rows, uniqExact(record) AS records FROM x');
        const rows = Number(found?.['rows']);
        const records = Number(found?.['records']);
        console.log(
          `seed ${random.seed}: ${kind}: ${WEBHOOKS - records} lost, ${rows - records} duplicated, ${KILLS} kills`,
        );
        expect(records).toBe(WEBHOOKS);
        // Each kill can cut off the answer to one batch.
        expect(rows - records).toBeLessThanOrEqual(kind === 'modern' ? 0 : KILLS * BATCH_ROWS);
      }, 180_000);
    });
  },
);
