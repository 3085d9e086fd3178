import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '../../scripts/node-red/ports.mjs';
import {
  hasClickHouse,
  PASSWORD,
  startClickHouse,
  type ClickHouseInstance,
  type ClickHouseKind,
} from '../harness/clickhouse';
import { clickhouseSink } from '../harness/clickhouse-sink';
import { startTcpProxy } from '../harness/tcp-proxy';
import { waitFor } from '../harness/wait';

const closings: (() => Promise<void>)[] = [];
const make = (...args: Parameters<typeof clickhouseSink>) => {
  const made = clickhouseSink(...args);
  closings.push(made.close);
  return made;
};
const closeAll = async () => {
  await Promise.all(closings.splice(0).map((close) => close()));
};
afterEach(closeAll);

const rows = (count: number) => Array.from({ length: count }, (_, id) => ({ id, s: `row ${id}` }));
const faultOf = ({ sink }: ReturnType<typeof make>) => sink.status()['fault'];
const MERGE_TREE = 'ENGINE = MergeTree ORDER BY id';
/** What the proxy waits for: the last of three rows, so that the whole batch has gone through. */
const LAST_ROW = '"id":2';

describe.each<ClickHouseKind>(['modern', 'old'])(
  'a ClickHouse sink and what goes wrong, %s server',
  (kind) => {
    describe.skipIf(!hasClickHouse(kind))('is there', () => {
      let server: ClickHouseInstance;
      const isModern = kind === 'modern';
      const counted = async () => Number((await server.query('SELECT count() AS rows FROM x'))[0]?.['rows']);

      beforeAll(async () => (server = await startClickHouse(kind)));
      beforeEach(async () => {
        await server.query('DROP TABLE IF EXISTS x');
        await server.query('DROP TABLE IF EXISTS away');
        await server.query(`CREATE TABLE x (id UInt32, s String) ${MERGE_TREE}`);
      });
      afterAll(() => server?.stop());

      it.each<[string, string, string, number]>([
        ['the table is unknown', 'RENAME TABLE x TO away', 'RENAME TABLE away TO x', 60],
        ['the table is dropped', 'DROP TABLE x', `CREATE TABLE x (id UInt32, s String) ${MERGE_TREE}`, 60],
        ['the table lacks a column', 'ALTER TABLE x DROP COLUMN s', 'ALTER TABLE x ADD COLUMN s String', 117],
      ])(
        'keeps the records while %s, says what to do, and stores them once it is mended',
        async (_, wreck, mend, code) => {
          const made = make(server, 3);
          // It knows the table as it was.
          expect(await Promise.all(made.deliver(rows(3)))).toEqual(['done', 'done', 'done']);
          await server.query(wreck);
          const deliveries = made.deliver(rows(3));
          await waitFor('the failure', () => faultOf(made) === 'ERR_SLUICE_CLICKHOUSE_TABLE');
          expect(made.sink.fault?.message).toContain(`${code}: `);
          expect(made.alerts.told.map(({ kind: of, level }) => `${of} ${level}`)).toContain('fault full');
          await server.query(mend);
          expect(await Promise.all(deliveries)).toEqual(['done', 'done', 'done']);
          expect(made.sink.status()).toMatchObject({ failed: 0, dropped: 0, fault: null });
        },
      );

      it('keeps the records of a renamed column, one alone too', async () => {
        const made = make(server, 1);
        expect(await Promise.all(made.deliver(rows(1)))).toEqual(['done']);
        await server.query('ALTER TABLE x DROP COLUMN s');
        await server.query('ALTER TABLE x ADD COLUMN t String');
        const deliveries = made.deliver(rows(1));
        await waitFor('the failure', () => faultOf(made) === 'ERR_SLUICE_CLICKHOUSE_TABLE');
        await server.query('ALTER TABLE x ADD COLUMN s String');
        expect(await Promise.all(deliveries)).toEqual(['done']);
        expect(await counted()).toBe(2);
      });

      it('keeps the records while password or port are wrong, says so, and shows no password', async () => {
        const wrongPassword = make(server, 3, { connection: { password: 'wrong-one' } });
        const wrongPort = make({ port: await freePort() }, 3);
        const deliveries = [...wrongPassword.deliver(rows(3)), ...wrongPort.deliver(rows(3))];
        await waitFor('the failures', () => faultOf(wrongPassword) !== null && faultOf(wrongPort) !== null);
        expect(faultOf(wrongPassword)).toBe('ERR_SLUICE_CLICKHOUSE_LOGIN');
        expect(faultOf(wrongPort)).toBe('ERR_SLUICE_CLICKHOUSE_UNREACHABLE');
        expect(wrongPassword.sink.fault?.message).not.toMatch(/wrong-one|it-is-a-password/);
        await closeAll();
        const codes = (await Promise.all(deliveries)).map((error) => (error as { code?: string }).code);
        expect(new Set(codes)).toEqual(new Set(['ERR_SLUICE_DELIVERY_ABORTED']));
      });

      if (!isModern)
        it('keeps the records while the user may only read', async () => {
          const made = make(server, 3, { connection: { username: 'reader', password: PASSWORD } });
          const deliveries = made.deliver(rows(3));
          await waitFor('the failure', () => faultOf(made) === 'ERR_SLUICE_CLICKHOUSE_TABLE');
          expect(made.sink.fault?.message).toMatch(/164: .*grant INSERT/);
          await closeAll();
          expect(await Promise.all(deliveries)).toMatchObject(
            Array.from({ length: 3 }, () => ({ code: 'ERR_SLUICE_DELIVERY_ABORTED' })),
          );
        });

      it('O45 O47 keeps the records while the server is away, refuses at its bound, and stores them when it is back', async () => {
        const made = make(server, 3, { maxBacklog: 4 });
        await server.kill();
        const deliveries = made.deliver(rows(4));
        await waitFor('the failure', () => faultOf(made) === 'ERR_SLUICE_CLICKHOUSE_UNREACHABLE');
        expect(await Promise.all(made.deliver(rows(1)))).toMatchObject([{ code: 'ERR_SLUICE_BATCH_FULL' }]);
        await server.start();
        expect(await Promise.all(deliveries)).toEqual(['done', 'done', 'done', 'done']);
        expect(await counted()).toBe(4);
      });

      it('O47 O74 gives up the oldest that waits under evict_oldest, counted and alerted, and stores the others', async () => {
        const made = make(server, 2, { maxBacklog: 4, policy: 'evict_oldest' });
        await server.kill();
        const deliveries = made.deliver(rows(6));
        await waitFor('the failure', () => faultOf(made) === 'ERR_SLUICE_CLICKHOUSE_UNREACHABLE');
        expect(made.sink.status()).toMatchObject({ dropped: 2, blocked: 0, backlog: 4 });
        expect(await made.metrics.render()).toMatch(
          /sluice_records_dropped_total\{[^}]*reason="evicted"[^}]*\} 2/,
        );
        await server.start();
        const outcomes = await Promise.all(deliveries);
        expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(4);
        expect(await counted()).toBe(4);
      });

      it('O43 stores into one table while another one is away', async () => {
        const stuck = make(server, 3, { table: 'nowhere' });
        const made = make(server, 3);
        const waiting = stuck.deliver(rows(3));
        await waitFor('the failure', () => faultOf(stuck) !== null);
        expect(await Promise.all(made.deliver(rows(3)))).toEqual(['done', 'done', 'done']);
        expect(stuck.sink.status()).toMatchObject({ backlog: 3 });
        await closeAll();
        await Promise.all(waiting);
      });

      it('N1 CH-51 loses nothing when the connection is cut after the insert and before its answer', async () => {
        const proxy = await startTcpProxy(server.port);
        const made = make(proxy, 3);
        proxy.cutAfter(LAST_ROW);
        expect(await Promise.all(made.deliver(rows(3)))).toEqual(['done', 'done', 'done']);
        expect(proxy.cuts).toBe(1);
        expect(await counted()).toBe(6);
        expect(await made.target.deduplication()).toMatchObject({ works: false });
        await proxy.close();
      });

      if (isModern)
        it('N1 CH-53 stores each record once where the table has a window', async () => {
          await server.query('DROP TABLE x');
          await server.query(
            `CREATE TABLE x (id UInt32, s String) ${MERGE_TREE} SETTINGS non_replicated_deduplication_window = 100`,
          );
          const proxy = await startTcpProxy(server.port);
          const made = make(proxy, 3);
          proxy.cutAfter(LAST_ROW);
          expect(await Promise.all(made.deliver(rows(3)))).toEqual(['done', 'done', 'done']);
          expect(proxy.cuts).toBe(1);
          expect(await counted()).toBe(3);
          expect(await made.target.deduplication()).toEqual({ works: true });
          // Equal data that isn't the same delivery is no repeat.
          expect(await Promise.all(made.deliver(rows(3)))).toEqual(['done', 'done', 'done']);
          expect(await counted()).toBe(6);
          await proxy.close();
        });

      if (isModern)
        it('N1 stores equal records of different batches with deduplication off', async () => {
          await server.query('DROP TABLE x');
          await server.query(
            `CREATE TABLE x (id UInt32, s String) ${MERGE_TREE} SETTINGS non_replicated_deduplication_window = 100`,
          );
          const made = make(server, 3, { dedup: false });
          for (let batch = 0; batch < 2; batch += 1) await Promise.all(made.deliver(rows(3)));
          expect(await counted()).toBe(6);
        });

      it('N2 isolates one bad row in 1,000 by the row that the server names', async () => {
        await server.query('DROP TABLE x');
        await server.query(`CREATE TABLE x (id UInt32, v Int32) ${MERGE_TREE}`);
        const made = make(server, 1000);
        const values = Array.from({ length: 1000 }, (_, id) => ({ id, v: id === 617 ? 'bad' : id }));
        const outcomes = await Promise.all(made.deliver(values));
        expect(outcomes.flatMap((outcome, row) => (outcome === 'done' ? [] : [row]))).toEqual([617]);
        expect(outcomes[617]).toMatchObject({ failure: 'permanent', code: 'ERR_SLUICE_CLICKHOUSE_ROW' });
        expect(await counted()).toBe(999);
        expect(await made.inserts()).toBeLessThanOrEqual(kind === 'modern' ? 3 : 22);
      });

      it('fails the record that names a column which the table lacks where others do without', async () => {
        const made = make(server, 3);
        const outcomes = await Promise.all(made.deliver([{ id: 1 }, { id: 2, extra: 1 }, { id: 3 }]));
        expect(outcomes).toMatchObject([
          'done',
          { code: 'ERR_SLUICE_CLICKHOUSE_ROW', failure: 'permanent' },
          'done',
        ]);
        expect(await counted()).toBe(2);
      });

      it('fails what makes no row, and takes text, buffers and big numbers digit by digit, compressed as well', async () => {
        await server.query('DROP TABLE x');
        await server.query(`CREATE TABLE x (id UInt64) ${MERGE_TREE}`);
        const made = make(server, 8, { connection: { gzip: true } });
        const payloads = [
          ...[
            [1],
            7,
            null,
            '"x"',
            '{"id":',
            { id: NaN },
            { id: Buffer.from('1') },
            { id: () => 1 },
            '{"id":1,"id":2}',
          ],
          ...['{"id":9007199254740993}', Buffer.from(' {"id" : 2}\n'), { id: 18446744073709551615n }],
        ];
        const outcomes = await Promise.all(made.deliver(payloads));
        expect(outcomes.map((outcome) => outcome === 'done')).toEqual([
          ...Array<boolean>(9).fill(false),
          true,
          true,
          true,
        ]);
        const stored = await server.query('SELECT toString(id) AS n FROM x ORDER BY id');
        expect(stored.map(({ n }) => n)).toEqual(['2', '9007199254740993', '18446744073709551615']);
      });
    });
  },
);

describe('answers of a ClickHouse server', () => {
  const COLUMNS = '{"name":"id","type":"UInt32","default_type":""}\n';

  /** A server that has the table x and answers its inserts one after the other; then with success. */
  async function answering(...answers: readonly { readonly status: number; readonly body: string }[]) {
    const inserts: string[] = [];
    const left = [...answers];
    const server = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (text: string) => (body += text));
      request.on('end', () => {
        const query = new URL(request.url ?? '', 'http://x').searchParams.get('query');
        if (query === null) return void response.end(body.startsWith('DESCRIBE') ? COLUMNS : '');
        inserts.push(body);
        const { status, body: text } = left.shift() ?? { status: 200, body: '' };
        response.writeHead(status).end(text);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closings.push(() => new Promise((resolve) => server.close(() => resolve())));
    return { port: (server.address() as AddressInfo).port, inserts };
  }

  const ids = (count: number) => Array.from({ length: count }, (_, id) => ({ id }));

  it.each<[string, number, string, string | null]>([
    [
      'CH-61 no memory',
      500,
      'Code: 241. DB::Exception: Memory limit exceeded. (MEMORY_LIMIT_EXCEEDED)',
      'UNREACHABLE',
    ],
    [
      'CH-63 a wrong password',
      403,
      'Code: 516. DB::Exception: Authentication failed. (AUTHENTICATION_FAILED)',
      'LOGIN',
    ],
    [
      'CH-65 an unknown status',
      500,
      'Code: 319. DB::Exception: Unknown status. (UNKNOWN_STATUS_OF_INSERT)',
      'UNREACHABLE',
    ],
    [
      'too many parts to merge',
      500,
      'Code: 252. DB::Exception: Too many parts (300). (TOO_MANY_PARTS)',
      'UNREACHABLE',
    ],
    ['a proxy without its server', 502, '<html>Bad Gateway</html>', 'UNREACHABLE'],
    [
      'an exception after a good status',
      200,
      'Code: 159. DB::Exception: Timeout exceeded. (TIMEOUT_EXCEEDED)',
      'UNREACHABLE',
    ],
    [
      'the old text for a lost table',
      404,
      "Code: 60, e.displayText() = DB::Exception: Table x doesn't exist., e.what() = DB::Exception",
      'TABLE',
    ],
  ])('%s: all records are kept and the identical batch is sent again', async (_, status, body, code) => {
    const server = await answering({ status, body });
    const made = make(server, 3);
    const deliveries = made.deliver(ids(3));
    await waitFor('the failure', () => faultOf(made) !== null);
    expect(faultOf(made)).toBe(`ERR_SLUICE_CLICKHOUSE_${code}`);
    expect(await Promise.all(deliveries)).toEqual(['done', 'done', 'done']);
    expect(server.inserts).toHaveLength(2);
    expect(server.inserts[1]).toBe(server.inserts[0]);
    expect(made.sink.status()).toMatchObject({ failed: 0 });
  });

  it('CH-67 data that is refused: only what fails alone is given up', async () => {
    const server = await answering({
      status: 400,
      body: 'Code: 27. DB::Exception: Cannot parse input. (CANNOT_PARSE_INPUT)',
    });
    const made = make(server, 3);
    expect(await Promise.all(made.deliver(ids(3)))).toEqual(['done', 'done', 'done']);
    expect(server.inserts.slice(1).join('').match(/"id"/g)).toHaveLength(3);
  });

  it('an answer that never comes: the identical batch is sent again after the timeout', async () => {
    const server = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (text: string) => (body += text));
      request.on('end', () => {
        if (!request.url?.includes('query='))
          return void response.end(body.startsWith('DESCRIBE') ? COLUMNS : '');
        inserts.push(body);
        if (inserts.length > 1) response.end();
      });
    });
    const inserts: string[] = [];
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closings.push(
      () =>
        new Promise((resolve) => {
          server.close(() => resolve());
          server.closeAllConnections();
        }),
    );
    const made = make({ port: (server.address() as AddressInfo).port }, 3, { insertTimeoutMs: 200 });
    expect(await Promise.all(made.deliver(ids(3)))).toEqual(['done', 'done', 'done']);
    expect(inserts).toHaveLength(2);
    expect(inserts[1]).toBe(inserts[0]);
  });
});
