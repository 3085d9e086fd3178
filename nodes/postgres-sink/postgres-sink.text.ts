import { DeliveryError } from '#lib/errors/errors';
import { lostInJson } from '#lib/record/json-loss';
import type { Value } from './postgres-sink.row';

const unfit = (text: string, cause?: unknown) =>
  new DeliveryError('ERR_SLUICE_POSTGRES_ROW', text, { failure: 'permanent', cause });

/** With the u flag, whole pairs are one character. */
const HALF_PAIR = /\p{Surrogate}/u;

/**
 * A value as the text that PostgreSQL reads for a column of this type. JSON columns take text as JSON and all else
 * serialised; arrays of other columns become array literals. Throws a permanent DeliveryError for what has no such text:
 * a NUL, or half a surrogate pair, which would silently be stored as something else.
 */
export function textOf(value: Value, type: string, column: string): string | null {
  if (value === null) return null;
  const text = plainText(value, type, column);
  if (text.includes('\0')) {
    throw unfit(`22021: the value of ${column} holds a NUL character, which PostgreSQL can't store`);
  }
  if (HALF_PAIR.test(text)) {
    throw unfit(`22021: the value of ${column} holds half a surrogate pair`);
  }
  return text;
}

function plainText(value: NonNullable<Value>, type: string, column: string): string {
  const isJson = type === 'json' || type === 'jsonb';
  if (typeof value === 'string') return value;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? invalidDate(column) : value.toISOString();
  if (value instanceof Uint8Array) return bytesText(value, type, column);
  if (typeof value !== 'object') return String(value);
  if (Array.isArray(value) && type.endsWith('[]') && !isJson) return arrayLiteral(value, type, column);
  return jsonText(value, column);
}

function invalidDate(column: string): never {
  throw unfit(`22007: the value of ${column} is an invalid date`);
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function bytesText(bytes: Uint8Array, type: string, column: string): string {
  if (type === 'bytea')
    return `\\x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`;
  try {
    return UTF8.decode(bytes);
  } catch (cause) {
    throw unfit(
      `22021: the value of ${column} holds bytes that are not UTF-8: its column is not bytea`,
      cause,
    );
  }
}

function jsonText(value: object, column: string): string {
  const exact = (_key: string, inner: unknown) => {
    const lost = lostInJson(inner);
    if (lost !== undefined) throw unfit(`22P02: the value of ${column} holds ${lost}, which JSON can't say`);
    return inner;
  };
  try {
    return JSON.stringify(value, exact);
  } catch (cause) {
    if (cause instanceof DeliveryError) throw cause;
    throw unfit(`the value of ${column} has no JSON form (a circular reference or a BigInt)`, cause);
  }
}

/** `{1,2,NULL,"a \"quoted\" text"}`, nested as the value is. */
function arrayLiteral(elements: readonly unknown[], type: string, column: string): string {
  const element = type.slice(0, -2);
  const texts = elements.map((value) => {
    if (value === null || value === undefined) return 'NULL';
    if (Array.isArray(value)) return arrayLiteral(value, type, column);
    const text = plainText(value, element, column);
    return `"${text.replace(/[\\"]/g, '\\$&')}"`;
  });
  return `{${texts.join(',')}}`;
}
