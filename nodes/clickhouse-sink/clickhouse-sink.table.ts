/** The table and the server as they are: columns and what fits them, settings that the server knows. */
import type { ClickHouseServer } from '#lib/clickhouse/server';
import { literal, quotedTable, type TableName } from './clickhouse-sink.names';
import { RowScanner, type ScannedColumn } from './clickhouse-sink.scan';
import { ANYTHING, checkOf, keyOf } from './clickhouse-sink.types';

export interface Table {
  readonly scanner: RowScanner;
  /** Those of the settings that we may send which this server knows. */
  readonly knownSettings: ReadonlySet<string>;
}

const TOKEN = 'insert_deduplication_token';
const SETTINGS = [
  TOKEN,
  'insert_deduplicate',
  // Above insert_deduplicate since 26.
  'deduplicate_insert',
  'deduplicate_blocks_in_dependent_materialized_views',
  'async_insert',
  'input_format_skip_unknown_fields',
];

/** A key that the operator lets the server leave out. */
const SKIPPED: ScannedColumn = { check: ANYTHING };

/** Reads both. Rejects with the client's error. */
export async function readTable(
  server: ClickHouseServer,
  name: TableName,
  checkValues: boolean,
  signal: AbortSignal,
): Promise<Table> {
  const described = await server.query(`DESCRIBE TABLE ${quotedTable(name)}`, signal);
  const names = SETTINGS.map(literal).join(', ');
  const found = await server.query(`SELECT name FROM system.settings WHERE name IN (${names})`, signal);
  const knownSettings = new Set(found.map((row) => String(row['name'])));
  const columns = columnsOf(described, checkValues);
  const skips = Number(server.ownSettings.get('input_format_skip_unknown_fields')) === 1;
  return { scanner: new RowScanner(skips ? (key) => columns(key) ?? SKIPPED : columns), knownSettings };
}

/** Which keys are columns. Pure. */
export function columnsOf(
  described: readonly Readonly<Record<string, unknown>>[],
  checkValues: boolean,
): (key: string) => ScannedColumn | undefined {
  const columns = new Map<string, ScannedColumn>();
  for (const row of described) {
    const key = keyOf(String(row['name']));
    const kind = row['default_type'];
    if (kind === 'ALIAS' || kind === 'MATERIALIZED') {
      columns.set(key, { check: ANYTHING, isComputed: true });
      continue;
    }
    const column = { check: checkValues ? checkOf(String(row['type'])) : ANYTHING };
    columns.set(key, column);
    // `n.a` is a part of the Nested column n, which may be given as a whole where the server is set up for that.
    const [nested] = key.split('.');
    if (nested !== undefined && nested !== key && !columns.has(nested))
      columns.set(nested, { check: ANYTHING });
  }
  return (key) => columns.get(key);
}

export type Deduplication =
  | { readonly works: true }
  | { readonly works: false; readonly why: 'server' | 'engine' | 'window'; readonly setting?: string };

/** Whether the table tells a batch that comes again. Rejects with the client's error. */
export async function readDeduplication(
  server: ClickHouseServer,
  { database, table }: TableName,
  { knownSettings }: Table,
  signal: AbortSignal,
): Promise<Deduplication> {
  if (!knownSettings.has(TOKEN)) return { works: false, why: 'server' };
  const of = database === undefined ? 'currentDatabase()' : literal(database);
  const [found] = await server.query(
    `SELECT engine, engine_full FROM system.tables WHERE database = ${of} AND name = ${literal(table)}`,
    signal,
  );
  const engine = String(found?.['engine'] ?? '');
  if (!engine.endsWith('MergeTree')) return { works: false, why: 'engine' };
  const setting = /^(?:Replicated|Shared)/.test(engine)
    ? 'replicated_deduplication_window'
    : 'non_replicated_deduplication_window';
  const ofTable = new RegExp(`\\b${setting} = '?(\\d+)`).exec(String(found?.['engine_full']))?.[1];
  const window = ofTable ?? (await serverDefault(server, setting, signal));
  return Number(window) > 0 ? { works: true } : { works: false, why: 'window', setting };
}

async function serverDefault(
  server: ClickHouseServer,
  setting: string,
  signal: AbortSignal,
): Promise<unknown> {
  const sql = `SELECT value FROM system.merge_tree_settings WHERE name = ${literal(setting)}`;
  return (await server.query(sql, signal))[0]?.['value'] ?? 0;
}
