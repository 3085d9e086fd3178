import { ConfigError } from '../../errors/errors';
import { refuseUnstorable } from '../finite-value';
import { RecordError } from '../record-error';

/** A field of the record as the SQL sees it. */
export interface Column {
  readonly name: string;
  /** The name as JSON. */
  readonly key: string;
  /** PostgreSQL's name of its type. */
  readonly type: string;
}

/** The words of the short form of schemas in PostgreSQL's. */
const TYPES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...{ bigint: 'bigint', int: 'bigint', integer: 'bigint' },
    ...{ float: 'double precision', double: 'double precision', number: 'double precision' },
    ...{
      decimal: 'numeric',
      numeric: 'numeric',
      string: 'text',
      text: 'text',
      boolean: 'boolean',
      bool: 'boolean',
    },
    ...{ datetime: 'timestamptz', timestamp: 'timestamptz', bytes: 'bytea', bytea: 'bytea' },
    ...{ array: 'jsonb', object: 'jsonb', struct: 'jsonb', any: 'jsonb' },
  }),
);

const wrong = (reason: string) => new ConfigError('ERR_SLUICE_TRANSFORM_COLUMNS', `columns ${reason}`);

/** Reads `{"id": "bigint", "temp": "float"}`. Throws ConfigError. */
export function parseColumns(text: string): readonly Column[] {
  let columns: unknown;
  try {
    columns = JSON.parse(text);
  } catch {
    throw wrong('is not JSON');
  }
  if (typeof columns !== 'object' || columns === null || Array.isArray(columns))
    throw wrong('is not a JSON object');
  const parsed = Object.entries(columns).map(([name, written]) => {
    const type = typeof written === 'string' ? TYPES.get(written.replace(/\?$/, '')) : undefined;
    if (type === undefined)
      throw wrong(`gives "${name}" a type that is none of: ${[...TYPES.keys()].join(', ')}`);
    if (name === '' || name.includes('\u0000')) throw wrong('has a name that no column can have');
    return { name, key: JSON.stringify(name), type };
  });
  if (parsed.length === 0) throw wrong('names no field of the record');
  return parsed;
}

function jsonOf({ name, type }: Column, value: unknown): string | undefined {
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return String(value);
    throw new RecordError('ERR_SLUICE_TRANSFORM_NUMBER', `Field '${name}' is ${value}`);
  }
  if (typeof value === 'bigint') return `"${value}"`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (value instanceof Uint8Array) {
    if (type === 'bytea') return `"\\\\x${Buffer.from(value).toString('hex')}"`;
    throw new RecordError(
      'ERR_SLUICE_TRANSFORM_FAILED',
      `Field '${name}' is a Buffer, its column is ${type}`,
    );
  }
  refuseUnstorable(value);
  try {
    return JSON.stringify(value);
  } catch (cause) {
    throw new RecordError('ERR_SLUICE_TRANSFORM_FAILED', `Field '${name}' has no JSON form`, { cause });
  }
}

/** The declared fields of a record as JSON; those that it lacks are null in SQL. Throws RecordError. */
export function columnsJson(columns: readonly Column[], record: unknown): string {
  if (
    typeof record !== 'object' ||
    record === null ||
    Array.isArray(record) ||
    record instanceof Uint8Array
  ) {
    throw new RecordError('ERR_SLUICE_TRANSFORM_FAILED', 'the record is no object, so it has no columns');
  }
  const fields = record as Readonly<Record<string, unknown>>;
  let json = '';
  for (const column of columns) {
    if (!Object.hasOwn(fields, column.name)) continue;
    const value = jsonOf(column, fields[column.name]);
    if (value !== undefined) json += `${json === '' ? '' : ','}${column.key}:${value}`;
  }
  return `{${json}}`;
}
