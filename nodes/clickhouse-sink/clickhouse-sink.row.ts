/** What a message becomes: the bytes of one JSON object. Text and buffers are passed on as they are. */
import { DeliveryError } from '#lib/errors/errors';
import type { ColumnValue } from '#lib/node-red/message-columns';
import { lostInJson } from '#lib/record/json-loss';
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

/** With the u flag, whole pairs are one character. */
const HALF_PAIR = /\p{Surrogate}/u;

export const unfit = (text: string, cause?: unknown) =>
  new DeliveryError('ERR_SLUICE_CLICKHOUSE_ROW', text, { failure: 'permanent', cause });

/** The row of these columns, else of a payload. Throws a permanent DeliveryError for one that makes none. */
export function rowOf(payload: unknown, columns?: readonly ColumnValue[]): ClickHouseRow {
  if (columns) {
    if (columns.every(([, value]) => value === undefined))
      throw unfit('the record has no value for any column');
    return { bytes: written(Object.fromEntries(columns)) };
  }
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

/** What JSON would write as something that is meant for other values. */
function refuseUnwritable(column: string, value: unknown): void {
  if (value instanceof Date && Number.isNaN(value.getTime())) {
    throw unfit(`the value of ${column} is an invalid date`);
  }
  if (value instanceof Uint8Array) {
    throw unfit(`the value of ${column} is a buffer: make text of it, in base64 or hexadecimal digits`);
  }
}

function jsonOf(values: object): string {
  let column = '';
  try {
    return JSON.stringify(values, function (this: unknown, key: string, value: unknown) {
      if (this === values) column = key;
      const lost = lostInJson(value);
      if (lost !== undefined) throw unfit(`the value of ${column} holds ${lost}, which JSON can't say`);
      // ClickHouse reads numbers in quotes, digit by digit.
      return typeof value === 'bigint' ? String(value) : value;
    });
  } catch (cause) {
    if (cause instanceof DeliveryError) throw cause;
    throw unfit('the payload has no JSON form (a circular reference)', cause);
  }
}
