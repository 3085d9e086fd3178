/** What a message becomes: the bytes of one JSON object. Text and buffers are passed on as they are. */
import { DeliveryError } from '#lib/errors/errors';
import type { Message } from '#lib/node-red/types';
import type { RowScanner, ScannedRow } from './clickhouse-sink.scan';

/** What a scanner found in a row: it can't be stored, or is sent as these bytes. */
export interface Scanned extends Partial<ScannedRow> {
  readonly by: RowScanner;
  readonly fault?: DeliveryError;
}

export interface ClickHouseRow {
  readonly bytes: Buffer;
  /** What a scanner found, so that a batch which is sent again isn't read again. */
  scanned?: Scanned;
}

/** Reads a property of a message, such as `payload.items[0].price`; undefined where there is none. */
export type ReadProperty = (msg: Message, path: string) => unknown;

/** Where a column's value is in the message. */
export interface ColumnSource {
  readonly column: string;
  readonly path: string;
}

/** `column = property` lines. */
export function columnSources(lines: string): ColumnSource[] {
  return lines.split(/\r?\n/).flatMap((line) => {
    const at = line.indexOf('=');
    return at < 0 ? [] : [{ column: line.slice(0, at).trim(), path: line.slice(at + 1).trim() }];
  });
}

/** With the u flag, whole pairs are one character. */
const HALF_PAIR = /\p{Surrogate}/u;

export const unfit = (text: string, cause?: unknown) =>
  new DeliveryError('ERR_SLUICE_CLICKHOUSE_ROW', text, { failure: 'permanent', cause });

/** The row of a message. Throws a permanent DeliveryError for one that makes none. */
export function rowOf(msg: Message, sources: readonly ColumnSource[], read: ReadProperty): ClickHouseRow {
  if (sources.length > 0) {
    return {
      bytes: written(Object.fromEntries(sources.map(({ column, path }) => [column, read(msg, path)]))),
    };
  }
  const { payload } = msg;
  if (payload instanceof Uint8Array) {
    return { bytes: Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength) };
  }
  if (typeof payload === 'string') {
    // Half a pair has no UTF-8: another character would be stored.
    if (HALF_PAIR.test(payload)) throw unfit('the payload is text with half a surrogate pair');
    return { bytes: Buffer.from(payload) };
  }
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) {
    throw unfit('the payload is no object: a row needs named values, or set the columns of the sink');
  }
  return { bytes: written(payload) };
}

/** A missing value isn't null: the column's default applies. */
function written(values: object): Buffer {
  for (const [column, value] of Object.entries(values)) refuseUnwritable(column, value);
  return Buffer.from(jsonOf(values));
}

/** What JSON would leave out or replace. */
function refuseUnwritable(column: string, value: unknown): void {
  if (typeof value === 'function' || typeof value === 'symbol') {
    throw unfit(`the value of ${column} is a ${typeof value}`);
  }
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw unfit(`the value of ${column} is ${value}, which JSON can't hold`);
  }
  if (value instanceof Date && Number.isNaN(value.getTime())) {
    throw unfit(`the value of ${column} is an invalid date`);
  }
  if (value instanceof Uint8Array) {
    throw unfit(`the value of ${column} is a buffer: make text of it, in base64 or hexadecimal digits`);
  }
}

function jsonOf(values: object): string {
  try {
    return JSON.stringify(values);
  } catch (first) {
    try {
      // ClickHouse reads numbers in quotes, digit by digit.
      return JSON.stringify(values, (_key, value: unknown) =>
        typeof value === 'bigint' ? String(value) : value,
      );
    } catch {
      throw unfit('the payload has no JSON form (a circular reference)', first);
    }
  }
}
