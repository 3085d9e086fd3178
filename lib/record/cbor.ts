/**
 * CBOR (RFC 8949) into what JSON can say. Whole numbers beyond 2^53 become digits, byte strings a Buffer, undefined null.
 * Of the tags, those of times (0, 1) leave their value as it is, bignums (2, 3) become numbers or digits, 55799 (this is
 * CBOR) and 259 (this is a map) say nothing new; others are refused.
 */
import { ByteReader } from './byte-reader';
import { MAX_DEPTH, tooDeep } from './depth';
import { exactInteger } from './exact-numbers';
import { finite, newKey } from './plain-object';
import { RecordError } from './record-error';

const BREAK = 0xff;
const INDEFINITE = 31;
const SELF_DESCRIBED = 55_799;
/** A map, said by writers that tell it from an object. */
const MAP = 259;
const KEEP_VALUE = new Set([0, 1, MAP, SELF_DESCRIBED]);

const refused = (what: string) => new RecordError('ERR_SLUICE_DECODE_SYNTAX', `the payload holds ${what}`);

/** The number that follows a first byte: a length, a value or a tag. */
function argument(reader: ByteReader, info: number): bigint {
  if (info < 24) return BigInt(info);
  if (info === 24) return BigInt(reader.uint8());
  if (info === 25) return BigInt(reader.uint16());
  if (info === 26) return BigInt(reader.uint32());
  if (info === 27) return reader.uint64();
  throw refused(`a CBOR item of the unknown length ${info}`);
}

/** Beyond 2^53 there are never so many bytes: `expect` refuses it. */
const length = (reader: ByteReader, info: number) => Number(argument(reader, info));

function atBreak(reader: ByteReader): boolean {
  if (reader.peek() !== BREAK) return false;
  reader.uint8();
  return true;
}

/** A string in pieces: each has to be a whole string of the same kind. */
function pieces<Piece>(reader: ByteReader, major: number, one: (length: number) => Piece): Piece[] {
  const all: Piece[] = [];
  while (!atBreak(reader)) {
    const first = reader.uint8();
    if (first >> 5 !== major || (first & 31) === INDEFINITE) throw refused('a CBOR string of mixed pieces');
    all.push(one(length(reader, first & 31)));
  }
  return all;
}

function array(reader: ByteReader, info: number, depth: number): unknown[] {
  const items: unknown[] = [];
  if (info === INDEFINITE) while (!atBreak(reader)) items.push(read(reader, depth + 1));
  else {
    for (let left = reader.expect(length(reader, info)); left > 0; left -= 1)
      items.push(read(reader, depth + 1));
  }
  return items;
}

function map(reader: ByteReader, info: number, depth: number): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  const add = () => {
    const key = newKey(object, read(reader, depth + 1));
    object[key] = read(reader, depth + 1);
  };
  if (info === INDEFINITE) while (!atBreak(reader)) add();
  else for (let left = reader.expect(length(reader, info), 2); left > 0; left -= 1) add();
  return object;
}

function bignum(bytes: unknown, isNegative: boolean): number | string {
  if (!Buffer.isBuffer(bytes)) throw refused('a CBOR bignum that is no byte string');
  // The time to write a number grows with the square of its digits.
  if (bytes.length > 256) throw refused('a CBOR bignum of more than 2048 bits');
  const value = bytes.length === 0 ? 0n : BigInt(`0x${bytes.toString('hex')}`);
  return exactInteger(isNegative ? -1n - value : value);
}

function tagged(reader: ByteReader, info: number, depth: number): unknown {
  const tag = length(reader, info);
  const value = read(reader, depth + 1);
  if (KEEP_VALUE.has(tag)) return value;
  if (tag === 2 || tag === 3) return bignum(value, tag === 3);
  throw refused(`the CBOR tag ${tag}`);
}

/** IEEE 754 binary16, which DataView can't read in all versions of Node.js. */
function float16(bits: number): number {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const size = exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25);
  const value = exponent === 31 ? (fraction === 0 ? Infinity : NaN) : size;
  return bits & 0x8000 ? -value : value;
}

function simple(reader: ByteReader, info: number): unknown {
  switch (info) {
    case 20:
      return false;
    case 21:
      return true;
    case 22:
    case 23:
      return null;
    case 25:
      return finite(float16(reader.uint16()));
    case 26:
      return finite(reader.float32());
    case 27:
      return finite(reader.float64());
    default:
      throw refused(`the CBOR simple value ${info}`);
  }
}

function read(reader: ByteReader, depth: number): unknown {
  if (depth > MAX_DEPTH) throw tooDeep();
  const first = reader.uint8();
  const major = first >> 5;
  const info = first & 31;
  switch (major) {
    case 0:
      return exactInteger(argument(reader, info));
    case 1:
      return exactInteger(-1n - argument(reader, info));
    case 2:
      if (info !== INDEFINITE) return reader.bytes(length(reader, info));
      return Buffer.concat(pieces(reader, major, (size) => reader.bytes(size)));
    case 3:
      if (info !== INDEFINITE) return reader.text(length(reader, info));
      return pieces(reader, major, (size) => reader.text(size)).join('');
    case 4:
      return array(reader, info, depth);
    case 5:
      return map(reader, info, depth);
    case 6:
      return tagged(reader, info, depth);
    default:
      return simple(reader, info);
  }
}

/** Throws RecordError (`ERR_SLUICE_DECODE_…`). */
export function parseCbor(bytes: Uint8Array): unknown {
  const reader = new ByteReader(bytes);
  const value = read(reader, 0);
  reader.end();
  return value;
}
