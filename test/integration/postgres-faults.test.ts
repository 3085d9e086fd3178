import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '../../scripts/node-red/ports.mjs';
import { findPostgres, startPostgres, type PostgresInstance } from '../harness/postgres';
import { postgresSink } from '../harness/postgres-sink';
import { startTcpProxy } from '../harness/tcp-proxy';
import { waitFor } from '../harness/wait';

const programs = findPostgres();
describe.skipIf(!programs)('a PostgreSQL sink and what goes wrong', () => {
  let server: PostgresInstance;
  const closings: (() => Promise<void>)[] = [];
  const make = (...args: Partial<Parameters<typeof postgresSink>>) => {
    const made = postgresSink(args[0] ?? server, args[1] ?? 3, args[2]);
    closings.push(made.close);
    return made;
  };
  const counted = async () => Number((await server.query('SELECT count(*) AS rows FROM x'))[0]?.['rows']);
  const rows = (count: number) => Array.from({ length: count }, (_, id) => ({ id, s: `row ${id}` }));
  const faultOf = ({ sink }: ReturnType<typeof make>) => sink.status()['fault'];

  beforeAll(async () => (server = await startPostgres(programs ?? '')));
  beforeEach(async () => {
    await server.query('DROP TABLE IF EXISTS x, away');
    await server.query('CREATE TABLE x (id int, s text)');
  });
  afterEach(async () => {
    await Promise.all(closings.splice(0).map((close) => close()));
  });
  afterAll(() => server?.stop());

  it('PG-31 stores more rows than a statement has parameters for', async () => {
    const columns = Array.from({ length: 10 }, (_, at) => `c${at}`);
    await server.query(
      `DROP TABLE x; CREATE TABLE x (${columns.map((name) => `${name} int`).join()}, UNIQUE (c0))`,
    );
    const wide = Array.from({ length: 6681 }, (_, row) =>
      Object.fromEntries(columns.map((name) => [name, row])),
    );
    const { deliver } = make(server, wide.length, { conflict: { keyColumns: ['c0'], action: 'nothing' } });
    expect(new Set(await Promise.all(deliver(wide)))).toEqual(new Set(['done']));
    expect(await counted()).toBe(6681);
  });

  it('PG-32 sends the batch again on a new connection when the server ended it', async () => {
    await server.query(`CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(30); RETURN NEW; END $$;
      CREATE TRIGGER hold BEFORE INSERT ON x FOR EACH ROW EXECUTE FUNCTION hold()`);
    const made = make();
    const deliveries = made.deliver(rows(3));
    const ended =
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'sluice' AND state = 'active'";
    await waitFor('the insert', async () => (await server.query(ended)).length > 0);
    await server.query('DROP TRIGGER hold ON x; DROP FUNCTION hold');
    expect(await Promise.all(deliveries)).toEqual(['done', 'done', 'done']);
    expect(await counted()).toBe(3);
  });

  it('PG-34 PG-36 tries again after a lock timeout and a deadlock', async () => {
    for (const state of ['55P03', '40P01']) {
      await server.query(`CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          IF (SELECT is_called FROM tries) IS FALSE THEN PERFORM nextval('tries'); RAISE EXCEPTION 'first try' USING ERRCODE = '${state}'; END IF;
          RETURN NEW; END $$;
        DROP SEQUENCE IF EXISTS tries; CREATE SEQUENCE tries;
        DROP TABLE x; CREATE TABLE x (id int, s text);
        CREATE TRIGGER fail BEFORE INSERT ON x FOR EACH ROW EXECUTE FUNCTION fail()`);
      const { deliver } = make();
      expect(await Promise.all(deliver(rows(3))), state).toEqual(['done', 'done', 'done']);
      expect(await counted()).toBe(3);
    }
  });

  it('PG-38 keeps the records while the server is away, refuses at its bound, and stores them when it is back', async () => {
    const made = make(server, 3, { maxBacklog: 4 });
    await server.kill();
    const deliveries = made.deliver(rows(4));
    await waitFor('the failure', () => faultOf(made) === 'ERR_SLUICE_POSTGRES_UNREACHABLE');
    expect(await Promise.all(made.deliver(rows(1)))).toMatchObject([{ code: 'ERR_SLUICE_BATCH_FULL' }]);
    await server.start();
    expect(await Promise.all(deliveries)).toEqual(['done', 'done', 'done', 'done']);
    expect(await counted()).toBe(4);
  });

  it.each<[string, string, string, string]>([
    [
      'PG-40 the table does not exist',
      'ALTER TABLE x RENAME TO away',
      'ALTER TABLE away RENAME TO x',
      '42P01',
    ],
    ['the table is dropped', 'DROP TABLE x', 'CREATE TABLE x (id int, s text)', '42P01'],
    ['a column was renamed', 'ALTER TABLE x RENAME s TO t', 'ALTER TABLE x RENAME t TO s', '42703'],
    ['the table lacks a column', 'ALTER TABLE x DROP s', 'ALTER TABLE x ADD s text', '42703'],
    [
      'the user may not insert',
      'ALTER TABLE x OWNER TO pg_monitor; ALTER ROLE owner NOSUPERUSER',
      '',
      '42501',
    ],
  ])(
    'keeps the records while %s, says what to do, and stores them once it is mended',
    async (_, wreck, mend, state) => {
      // A superuser may do anything, so the sink logs in as somebody who isn't.
      await server.query(`DROP ROLE IF EXISTS writer; CREATE ROLE writer LOGIN PASSWORD 'it-is-a-password'`);
      const grant = 'GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA public TO writer';
      await server.query(state === '42501' ? 'SELECT 1' : grant);
      if (state !== '42501') await server.query(wreck);
      const made = make({ ...server, user: 'writer' });
      const deliveries = made.deliver(rows(3));
      await waitFor('the failure', () => faultOf(made) === 'ERR_SLUICE_POSTGRES_TABLE');
      expect(made.sink.fault?.message).toContain(`${state}: `);
      expect(made.alerts.told.map(({ kind, level }) => `${kind} ${level}`)).toContain('fault full');
      await server.query(state === '42501' ? grant : `${mend}; ${grant}`);
      expect(await Promise.all(deliveries)).toEqual(['done', 'done', 'done']);
      expect(await counted()).toBe(3);
      await server.query('REVOKE ALL ON ALL TABLES IN SCHEMA public FROM writer');
    },
  );

  it('keeps the records while password or host are wrong, and says so', async () => {
    const wrongPassword = make({ ...server, password: 'wrong' });
    const wrongPort = make({ ...server, port: await freePort() });
    const deliveries = [...wrongPassword.deliver(rows(3)), ...wrongPort.deliver(rows(3))];
    await waitFor('the failures', () => faultOf(wrongPassword) !== null && faultOf(wrongPort) !== null);
    expect(faultOf(wrongPassword)).toBe('ERR_SLUICE_POSTGRES_LOGIN');
    expect(faultOf(wrongPort)).toBe('ERR_SLUICE_POSTGRES_UNREACHABLE');
    expect(wrongPassword.sink.fault?.message).not.toContain('it-is-a-password');
    await Promise.all(closings.splice(0).map((close) => close()));
    expect(
      new Set((await Promise.all(deliveries)).map((error) => (error as { code?: string }).code)),
    ).toEqual(new Set(['ERR_SLUICE_DELIVERY_ABORTED']));
  });

  it('fails the record that names a column which the table lacks where others do without', async () => {
    const { deliver } = make();
    const outcomes = await Promise.all(deliver([{ id: 1 }, { id: 2, extra: 1 }, { id: 3 }]));
    expect(outcomes).toMatchObject([
      'done',
      { code: 'ERR_SLUICE_POSTGRES_ROW', failure: 'permanent' },
      'done',
    ]);
    expect(await counted()).toBe(2);
  });

  it('fails a record that is no object, and takes text and buffers for JSON, digit by digit', async () => {
    await server.query('DROP TABLE x; CREATE TABLE x (id bigint)');
    const { deliver } = make(server, 5);
    const payloads = [
      [1],
      7,
      '{"id":9007199254740993}',
      Buffer.from('{"id":2}'),
      '{"id":1,"id":2}',
      '{"id":',
    ];
    const outcomes = await Promise.all(deliver(payloads));
    expect(outcomes.map((outcome) => outcome === 'done')).toEqual([false, false, true, true, false, false]);
    const stored = await server.query('SELECT id::text FROM x ORDER BY id DESC');
    expect(stored).toEqual([{ id: '9007199254740993' }, { id: '2' }]);
  });

  it('N1 PG-43 loses nothing when the connection is cut between the commit and its answer', async () => {
    const proxy = await startTcpProxy(server.port);
    const { deliver } = make({ ...server, port: proxy.port });
    proxy.cutAfter('COMMIT');
    expect(await Promise.all(deliver(rows(3)))).toEqual(['done', 'done', 'done']);
    expect(proxy.cuts).toBe(1);
    expect([3, 6]).toContain(await counted());
    await proxy.close();
  });

  it('N1 stores each record once with key columns, although the connection is cut after the commit', async () => {
    await server.query('ALTER TABLE x ADD UNIQUE (id)');
    const proxy = await startTcpProxy(server.port);
    const { deliver } = make({ ...server, port: proxy.port }, 3, {
      conflict: { keyColumns: ['id'], action: 'nothing' },
    });
    proxy.cutAfter('COMMIT');
    expect(await Promise.all(deliver(rows(3)))).toEqual(['done', 'done', 'done']);
    expect(proxy.cuts).toBe(1);
    expect(await counted()).toBe(3);
    await proxy.close();
  });

  it('N1 takes rows that an unanswered commit has stored for stored where the table has a key of its own', async () => {
    await server.query('ALTER TABLE x ADD PRIMARY KEY (id)');
    const proxy = await startTcpProxy(server.port);
    const { deliver } = make({ ...server, port: proxy.port });
    proxy.cutAfter('COMMIT');
    expect(await Promise.all(deliver(rows(3)))).toEqual(['done', 'done', 'done']);
    expect(proxy.cuts).toBe(1);
    expect(await counted()).toBe(3);
    await proxy.close();
  });

  it('N2 isolates one bad row in 1,000 with three inserts, by the line that COPY names', async () => {
    await server.query('DROP TABLE x; CREATE TABLE x (id int, v int)');
    const made = make(server, 1000);
    const values = Array.from({ length: 1000 }, (_, id) => ({ id, v: id === 617 ? 'bad' : id }));
    const outcomes = await Promise.all(made.deliver(values));
    expect(outcomes.filter((outcome) => outcome !== 'done')).toHaveLength(1);
    expect(outcomes[617]).toMatchObject({ message: expect.stringContaining('22P02') as string });
    expect(await counted()).toBe(999);
    expect(await made.inserts()).toBe(3);
  });
});
