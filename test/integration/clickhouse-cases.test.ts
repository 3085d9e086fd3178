import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  hasClickHouse,
  startClickHouse,
  type ClickHouseInstance,
  type ClickHouseKind,
} from '../harness/clickhouse';
import { clickhouseSink } from '../harness/clickhouse-sink';

interface TableCase {
  readonly id: string;
  readonly title: string;
  readonly input: {
    readonly ddl: string;
    readonly insertSettings: string;
    readonly rows: readonly string[] | string;
    readonly rawTextRows?: readonly number[];
  };
  readonly expect: {
    readonly acceptedRows: readonly number[] | string;
    /** With values that ClickHouse would store as others refused. */
    readonly acceptedWhenChecked?: readonly number[];
    /** Where we refuse a record that the server takes, checked or not. */
    readonly acceptedByUs?: readonly number[];
    readonly refused?: readonly { readonly row: number; readonly code: number }[];
    readonly maxInserts?: number;
  };
}

const path = join(import.meta.dirname, '../cases/clickhouse.json');
const { cases } = JSON.parse(readFileSync(path, 'utf8')) as { cases: (TableCase & { input: object })[] };
const tableCases = cases.filter((found): found is TableCase => 'ddl' in found.input);

/** `rows i=0..999: {"id":i,"v":i}; row 617 is {"id":617,"v":"bad"}` */
function rowsOf({ rows }: TableCase['input']): string[] {
  if (typeof rows !== 'string') return [...rows];
  const [, last = '', pattern = ''] = /^rows i=0\.\.(\d+): (\{[^}]*\})/.exec(rows) ?? [];
  const all = Array.from({ length: Number(last) + 1 }, (_, i) => pattern.replaceAll(/:i\b/g, `:${i}`));
  const [, odd, text] = /row (\d+) is (\{.*\})/.exec(rows) ?? [];
  if (text !== undefined) all[Number(odd)] = text;
  return all;
}

/** `all 1000 except [617]` */
function acceptedOf(accepted: readonly number[] | string, count: number): number[] {
  if (typeof accepted !== 'string') return [...accepted];
  const except = JSON.parse(/\[.*\]/.exec(accepted)?.[0] ?? '[]') as number[];
  return Array.from({ length: count }, (_, row) => row).filter((row) => !except.includes(row));
}

/** `a='b',c=1` as the URL has it. */
const urlSettings = (settings: string) =>
  settings
    .split(',')
    .filter((setting) => setting !== '')
    .map((setting) => `ch_${setting.replaceAll("'", '')}`)
    .join('&');

/** What 18.16 has no type or no setting for; of an Enum it takes the names only. */
const TOO_NEW = new Set(['CH-11', 'CH-31', 'CH-21', 'CH-15']);

describe.each<ClickHouseKind>(['modern', 'old'])('O45 cases of a ClickHouse table, %s server', (kind) => {
  describe.skipIf(!hasClickHouse(kind))('is there', () => {
    let server: ClickHouseInstance;
    let close: (() => Promise<void>) | undefined;
    beforeAll(async () => (server = await startClickHouse(kind)));
    afterEach(async () => {
      await close?.();
      close = undefined;
    });
    afterAll(() => server?.stop());

    const fitting = tableCases.filter(({ id }) => kind === 'modern' || !TOO_NEW.has(id));
    const runs = fitting.flatMap((found) =>
      [true, false].map((checkValues) => ({
        ...found,
        checkValues,
        values: checkValues ? 'checked' : 'not checked',
      })),
    );
    it.each(runs)('$id $title, values $values', async ({ input, expect: expected, checkValues }) => {
      await server.query('DROP TABLE IF EXISTS x');
      await server.query(input.ddl);
      const rows = rowsOf(input);
      const made = clickhouseSink(server, rows.length, {
        checkValues,
        connection: { url: `http://127.0.0.1:${server.port}/?${urlSettings(input.insertSettings)}` },
      });
      close = made.close;
      const outcomes = await Promise.all(made.deliver(rows));

      const accepted = outcomes.flatMap((outcome, row) => (outcome === 'done' ? [row] : []));
      const wanted =
        expected.acceptedByUs ??
        (checkValues ? expected.acceptedWhenChecked : undefined) ??
        acceptedOf(expected.acceptedRows, rows.length);
      expect(accepted).toEqual(wanted);
      for (const outcome of outcomes.filter((one) => one !== 'done')) {
        expect(outcome).toMatchObject({ failure: 'permanent', code: 'ERR_SLUICE_CLICKHOUSE_ROW' });
      }
      if (!checkValues && kind === 'modern') {
        for (const { row, code } of expected.refused ?? []) {
          if (input.rawTextRows?.includes(row)) continue;
          expect((outcomes[row] as Error).message, `row ${row}`).toMatch(new RegExp(`^${code}: `));
        }
      }
      const ids = await server.query('SELECT id FROM x ORDER BY id');
      const sentIds = accepted.map((row) => /"id":(\d+)/.exec(rows[row] ?? '')?.[1]);
      expect(ids.map(({ id }) => String(id))).toEqual(sentIds);
      if (expected.maxInserts !== undefined) {
        expect(await made.inserts()).toBeLessThanOrEqual(expected.maxInserts);
      }
    });
  });
});

it('has all cases of a table', () => expect(tableCases.length).toBe(21));
