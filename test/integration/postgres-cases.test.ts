import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findPostgres, startPostgres, type PostgresInstance } from '../harness/postgres';
import { postgresSink } from '../harness/postgres-sink';

interface RowCase {
  readonly id: string;
  readonly title: string;
  readonly input: { readonly ddl: string; readonly statement: string; readonly rows: unknown[][] };
  readonly expect: {
    readonly acceptedRows: number[];
    readonly deadLetter: { readonly rows: { readonly row: number; readonly sqlstate: string }[] };
    readonly finalTable: string[];
    readonly whenValuesAreSerialisedForJsonb?: { readonly acceptedRows: number[] };
  };
}

const path = join(import.meta.dirname, '../cases/postgres.json');
const { cases } = JSON.parse(readFileSync(path, 'utf8')) as { cases: (RowCase & { input: object })[] };
const rowCases = cases.filter((found): found is RowCase => 'ddl' in found.input);

const programs = findPostgres();
describe.skipIf(!programs)('O45 cases of a PostgreSQL table', () => {
  let server: PostgresInstance;
  let close: (() => Promise<void>) | undefined;
  beforeAll(async () => (server = await startPostgres(programs ?? '')));
  afterEach(async () => {
    await close?.();
    close = undefined;
  });
  afterAll(() => server?.stop());

  it.each(rowCases)('$id $title', async ({ id, input, expect: expected }) => {
    await server.query('DROP TABLE IF EXISTS x, p CASCADE; DROP TYPE IF EXISTS mood');
    await server.query(input.ddl);
    const columns = /\(([^)]*)\) VALUES/.exec(input.statement)?.[1]?.split(',') ?? [];
    const payloads = input.rows.map((row) =>
      Object.fromEntries(row.map((value, at) => [columns[at], value])),
    );
    const update = input.statement.includes('DO UPDATE');
    const made = postgresSink(server, payloads.length, {
      conflict: update ? { keyColumns: ['id'], action: 'update' } : undefined,
    });
    close = made.close;
    const outcomes = await Promise.all(made.deliver(payloads));

    const accepted = outcomes.flatMap((outcome, row) => (outcome === 'done' ? [row] : []));
    expect(accepted).toEqual(expected.whenValuesAreSerialisedForJsonb?.acceptedRows ?? expected.acceptedRows);
    for (const { row, sqlstate } of expected.deadLetter.rows) {
      if (accepted.includes(row)) continue;
      expect(outcomes[row], `row ${row}`).toMatchObject({
        failure: 'permanent',
        code: 'ERR_SLUICE_POSTGRES_ROW',
        message: expect.stringMatching(`^${sqlstate}: `) as string,
      });
    }
    const stored = await server.query('SELECT row_to_json(x)::text AS row FROM x ORDER BY id');
    const rows = stored.map(({ row }) => row);
    if (expected.whenValuesAreSerialisedForJsonb) expect(rows).toHaveLength(accepted.length);
    else expect(rows, id).toEqual(expected.finalTable);
    const open = await server.query("SELECT 1 FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'");
    expect(open).toEqual([]);
  });

  it('has all cases of a table', () => expect(rowCases.length).toBe(12));
});
