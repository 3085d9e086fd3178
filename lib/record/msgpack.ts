/**
 * MessagePack into what JSON can say, after https://github.com/msgpack/msgpack/blob/master/spec.md. Whole numbers beyond
 * 2^53 become digits, bin a Buffer, the timestamp extension an ISO 8601 text in UTC; other extensions are refused.
 */
import { ByteReader } from './byte-reader';
import { MAX_DEPTH, tooDeep } from './depth';
import { exactInteger } from './exact-numbers';
import { finite, newKey } from './plain-object';
import { RecordError } from './record-error';

const TIMESTAMP = -1;

type Read = (reader: ByteReader, depth: number) => unknown;

const bin = (reader: ByteReader, length: number) => reader.bytes(length);
const str = (reader: ByteReader, length: number) => reader.text(length);

function array(reader: ByteReader, length: number, depth: number): unknown[] {
  const items: unknown[] = [];
  for (let left = reader.expect(length); left > 0; left -= 1) items.push(read(reader, depth + 1));
  return items;
}

function map(reader: ByteReader, length: number, depth: number): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (let left = reader.expect(length, 2); left > 0; left -= 1) {
    const key = newKey(object, read(reader, depth + 1));
    object[key] = read(reader, depth + 1);
  }
  return object;
}

function isoTime(seconds: bigint, nanoseconds: number): string {
  const date = new Date(Number(seconds) * 1000);
  if (Number.isNaN(date.getTime()) || nanoseconds > 999_999_999) {
    throw new RecordError('ERR_SLUICE_DECODE_SYNTAX', 'the payload holds a timestamp out of range');
  }
  const fraction = String(nanoseconds).padStart(9, '0').replace(/0+$/, '').padEnd(3, '0');
  return date.toISOString().replace(/\d{3}Z$/, `${fraction}Z`);
}

function ext(reader: ByteReader, length: number): string {
  const type = reader.int8();
  if (type === TIMESTAMP) {
    if (length === 4) return isoTime(BigInt(reader.uint32()), 0);
    if (length === 8) {
      const packed = reader.uint64();
      return isoTime(packed & 0x3_ffff_ffffn, Number(packed >> 34n));
    }
    if (length === 12) {
      const nanoseconds = reader.uint32();
      return isoTime(reader.int64(), nanoseconds);
    }
  }
  throw new RecordError('ERR_SLUICE_DECODE_SYNTAX', `the payload holds the MessagePack extension ${type}`);
}

/** By first byte from 0xc0 to 0xdf. */
const FORMATS: readonly Read[] = [
  () => null,
  () => {
    throw new RecordError(
      'ERR_SLUICE_DECODE_SYNTAX',
      'the payload holds the byte c1, which MessagePack never uses',
    );
  },
  () => false,
  () => true,
  (reader) => bin(reader, reader.uint8()),
  (reader) => bin(reader, reader.uint16()),
  (reader) => bin(reader, reader.uint32()),
  (reader) => ext(reader, reader.uint8()),
  (reader) => ext(reader, reader.uint16()),
  (reader) => ext(reader, reader.uint32()),
  (reader) => finite(reader.float32()),
  (reader) => finite(reader.float64()),
  (reader) => reader.uint8(),
  (reader) => reader.uint16(),
  (reader) => reader.uint32(),
  (reader) => exactInteger(reader.uint64()),
  (reader) => reader.int8(),
  (reader) => reader.int16(),
  (reader) => reader.int32(),
  (reader) => exactInteger(reader.int64()),
  (reader) => ext(reader, 1),
  (reader) => ext(reader, 2),
  (reader) => ext(reader, 4),
  (reader) => ext(reader, 8),
  (reader) => ext(reader, 16),
  (reader) => str(reader, reader.uint8()),
  (reader) => str(reader, reader.uint16()),
  (reader) => str(reader, reader.uint32()),
  (reader, depth) => array(reader, reader.uint16(), depth),
  (reader, depth) => array(reader, reader.uint32(), depth),
  (reader, depth) => map(reader, reader.uint16(), depth),
  (reader, depth) => map(reader, reader.uint32(), depth),
];

function read(reader: ByteReader, depth: number): unknown {
  if (depth > MAX_DEPTH) throw tooDeep();
  const first = reader.uint8();
  if (first <= 0x7f) return first;
  if (first <= 0x8f) return map(reader, first & 0x0f, depth);
  if (first <= 0x9f) return array(reader, first & 0x0f, depth);
  if (first <= 0xbf) return str(reader, first & 0x1f);
  if (first >= 0xe0) return first - 0x100;
  return FORMATS[first - 0xc0]?.(reader, depth);
}

/** Throws RecordError (`ERR_SLUICE_DECODE_…`). */
export function parseMsgpack(bytes: Uint8Array): unknown {
  const reader = new ByteReader(bytes);
  const value = read(reader, 0);
  reader.end();
  return value;
}
