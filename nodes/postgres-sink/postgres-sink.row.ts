/** What a message becomes: the columns it has values for, each as the text that PostgreSQL reads. */
import { DeliveryError } from '#lib/errors/errors';
import type { ColumnValue } from '#lib/node-red/message-columns';
import { parseJson } from '#lib/record/json';

/** A value before the type of its column is known; null is SQL's. */
export type Value = string | number | boolean | bigint | Date | Uint8Array | object | null;

export interface PostgresRow {
  /** Column name to value, in the order of the payload. */
  readonly values: ReadonlyMap<string, Value>;
}

const unfit = (text: string, cause?: unknown) =>
  new DeliveryError('ERR_SLUICE_POSTGRES_ROW', text, { failure: 'permanent', cause });

/** The row of these columns, else of a payload. Throws a permanent DeliveryError for one that makes none. */
export function rowOf(payload: unknown, columns?: readonly ColumnValue[]): PostgresRow {
  const values = new Map<string, Value>();
  for (const [column, value] of columns ?? Object.entries(objectIn(payload))) add(values, column, value);
  if (values.size === 0) throw unfit('the record has no value for any column');
  return { values };
}

function objectIn(payload: unknown): object {
  const isText = typeof payload === 'string' || payload instanceof Uint8Array;
  const value = isText ? parsed(payload) : payload;
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw unfit('the payload is no object: a row needs named values, or set the columns of the sink');
}

function parsed(payload: string | Uint8Array): unknown {
  try {
    if (typeof payload === 'string') return parseJson(payload);
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(payload));
  } catch (cause) {
    throw unfit(cause instanceof Error ? cause.message : 'the payload is not JSON', cause);
  }
}

/** A missing value isn't null: the column's default applies. */
function add(values: Map<string, Value>, column: string, value: unknown): void {
  if (value === undefined) return;
  if (typeof value === 'function' || typeof value === 'symbol') {
    throw unfit(`the value of ${column} is a ${typeof value}`);
  }
  values.set(column, value);
}

/** Bytes of a row over the wire, near enough for the bound of a batch. */
export function bytesOf({ values }: PostgresRow): number {
  let bytes = 0;
  for (const value of values.values()) bytes += sizeOf(value) + 1;
  return bytes;
}

function sizeOf(value: Value): number {
  if (typeof value === 'string') return value.length;
  if (value instanceof Uint8Array) return value.byteLength * 2;
  if (typeof value !== 'object' || value === null) return 8;
  try {
    return JSON.stringify(value)?.length ?? 8;
  } catch (cause) {
    throw unfit('a value has no JSON form (a circular reference or a BigInt)', cause);
  }
}

/** What tells this row from one with other values, as bytes. */
export function identityOf({ values }: PostgresRow): Uint8Array {
  const plain = (_key: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);
  return Buffer.from(JSON.stringify([...values], plain));
}
