/**
 * Reads the bytes of a record once, without making values of them: whether they are exactly one JSON object without a key
 * twice, which columns it names, and whether its values fit there. What passes can be joined with others, a line each,
 * and means the same to ClickHouse as to any other reader of JSON.
 */
import { MAX_DEPTH } from '#lib/record/depth';
import {
  byteAt,
  CLOSE,
  CLOSE_LIST,
  COMMA,
  endOfLiteral,
  endOfNumber,
  endOfText,
  keyBetween,
  notJson,
  OPEN,
  OPEN_LIST,
  QUOTE,
  RowFault,
  skipSpace,
  valueAfter,
} from './clickhouse-sink.json';
import { ANYTHING, nameOf, type ValueCheck } from './clickhouse-sink.types';

const NULL = 0x6e;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const twice = (key: string) => new RowFault(`the key ${nameOf(key)} is there twice in one object`);

function throwProblem(problem: string | undefined): void {
  if (problem !== undefined) throw new RowFault(problem);
}

/** The end of the value that begins at `start`. */
function endOfValue(bytes: Buffer, start: number, check: ValueCheck, depth: number): number {
  const byte = byteAt(bytes, start);
  if (byte === QUOTE) {
    const end = endOfText(bytes, start + 1);
    if (check.scalar) throwProblem(check.scalar(bytes, start + 1, end, true));
    return end + 1;
  }
  if (byte === OPEN) return endOfObject(bytes, start, check, depth + 1);
  if (byte === OPEN_LIST) return endOfList(bytes, start, check, depth + 1);
  const literal = endOfLiteral(bytes, start);
  if (literal > start) {
    if (byte === NULL && !check.takesNull) {
      throw new RowFault('null, and the column is not Nullable: ClickHouse would store a default instead');
    }
    return literal;
  }
  const end = endOfNumber(bytes, start);
  if (check.scalar) throwProblem(check.scalar(bytes, start, end, false));
  return end;
}

function endOfList(bytes: Buffer, start: number, check: ValueCheck, depth: number): number {
  if (depth > MAX_DEPTH) throw new RowFault(`the payload nests deeper than ${MAX_DEPTH} levels`);
  const element = check.element ?? ANYTHING;
  let at = skipSpace(bytes, start + 1);
  if (byteAt(bytes, at) === CLOSE_LIST) return at + 1;
  for (;;) {
    at = skipSpace(bytes, endOfValue(bytes, at, element, depth));
    const byte = byteAt(bytes, at);
    if (byte === CLOSE_LIST) return at + 1;
    if (byte !== COMMA) throw notJson(at);
    at = skipSpace(bytes, at + 1);
  }
}

function endOfObject(bytes: Buffer, start: number, check: ValueCheck, depth: number): number {
  if (depth > MAX_DEPTH) throw new RowFault(`the payload nests deeper than ${MAX_DEPTH} levels`);
  let at = skipSpace(bytes, start + 1);
  if (byteAt(bytes, at) === CLOSE) return at + 1;
  const keys = new Set<string>();
  for (;;) {
    if (byteAt(bytes, at) !== QUOTE) throw notJson(at);
    const end = endOfText(bytes, at + 1);
    const key = keyBetween(bytes, at + 1, end);
    if (keys.has(key)) throw twice(key);
    keys.add(key);
    const field = check.fields ? check.fields.get(key) : (check.value ?? ANYTHING);
    if (!field) throw new RowFault(`the field ${nameOf(key)}, which the column's Tuple lacks`);
    at = skipSpace(bytes, endOfValue(bytes, valueAfter(bytes, end), field, depth));
    const byte = byteAt(bytes, at);
    if (byte === CLOSE) return at + 1;
    if (byte !== COMMA) throw notJson(at);
    at = skipSpace(bytes, at + 1);
  }
}

/** Keys that a row has at one position, and what is known of their column. */
interface Expected {
  /** With its closing quote, so that a longer key doesn't begin with it. */
  readonly bytes: Buffer;
  readonly key: string;
  readonly column: ScannedColumn | undefined;
}

export interface ScannedColumn {
  readonly check: ValueCheck;
  /** The server makes the value itself and takes none. */
  readonly isComputed?: boolean;
}

export interface ScannedRow {
  /** The first key that is no column, if there is one. */
  readonly stray: string | undefined;
  /** The row as the server takes it: on one line, without columns that it computes itself. */
  readonly bytes: Buffer;
}

/** Columns by their keys, as `keyOf` writes them. */
export type ScannedColumns = (key: string) => ScannedColumn | undefined;

export class RowScanner {
  /** The keys of the row before, in their order: the next row nearly always has the same. */
  #expected: readonly Expected[] = [];

  constructor(private readonly columns: ScannedColumns) {}

  /** Throws RowFault for what can't be stored whatever the table is. */
  scan(bytes: Buffer): ScannedRow {
    const open = startOfRow(bytes);
    const keys: Expected[] = [];
    let isAsExpected = true;
    let at = skipSpace(bytes, open + 1);
    while (byteAt(bytes, at) !== CLOSE) {
      if (byteAt(bytes, at) !== QUOTE) throw notJson(at);
      const known: Expected | undefined = isAsExpected
        ? this.#expectedAt(keys.length, bytes, at + 1)
        : undefined;
      isAsExpected = known !== undefined;
      const end = known ? at + known.bytes.length : endOfText(bytes, at + 1);
      const found = known ?? this.#find(bytes, at + 1, end);
      if (!known && keys.some(({ key }) => key === found.key)) throw twice(found.key);
      keys.push(found);
      at = nextMember(bytes, endOfColumn(bytes, valueAfter(bytes, end), found));
    }
    endRow(bytes, at + 1);
    if (!isAsExpected) this.#expected = keys;
    const stray = keys.find(({ column }) => !column)?.key;
    return {
      stray: stray === undefined ? undefined : nameOf(stray),
      bytes: onOneLine(keys.some(({ column }) => column?.isComputed) ? withoutComputed(bytes, keys) : bytes),
    };
  }

  #expectedAt(index: number, bytes: Buffer, start: number): Expected | undefined {
    const expected = this.#expected[index];
    if (!expected) return undefined;
    const key = expected.bytes;
    for (let at = 0; at < key.length; at += 1) {
      if (byteAt(bytes, start + at) !== key[at]) return undefined;
    }
    return expected;
  }

  #find(bytes: Buffer, start: number, end: number): Expected {
    const key = keyBetween(bytes, start, end);
    return { bytes: Buffer.from(bytes.subarray(start, end + 1)), key, column: this.columns(key) };
  }
}

function endOfColumn(bytes: Buffer, start: number, { key, column }: Expected): number {
  try {
    return endOfValue(bytes, start, column?.check ?? ANYTHING, 0);
  } catch (error) {
    throw error instanceof RowFault && error.column === undefined
      ? new RowFault(error.message, nameOf(key))
      : error;
  }
}

function startOfRow(bytes: Buffer): number {
  const open = skipSpace(bytes, 0);
  if (byteAt(bytes, open) === OPEN) return open;
  throw new RowFault('the payload is no JSON object: a row needs named values');
}

/** From the end of a value to the next key, or to the closing brace. */
function nextMember(bytes: Buffer, end: number): number {
  const at = skipSpace(bytes, end);
  const byte = byteAt(bytes, at);
  if (byte === CLOSE) return at;
  if (byte !== COMMA) throw notJson(at);
  const key = skipSpace(bytes, at + 1);
  if (byteAt(bytes, key) !== QUOTE) throw notJson(key);
  return key;
}

function endRow(bytes: Buffer, end: number): void {
  const at = skipSpace(bytes, end);
  if (at < bytes.length) throw new RowFault(`the payload has something behind its object, at byte ${at}`);
}

/** Line breaks of a JSON text are white space wherever they stand: in its texts they are escaped. */
function onOneLine(bytes: Buffer): Buffer {
  if (!bytes.includes(LINE_FEED) && !bytes.includes(RETURN)) return bytes;
  return Buffer.from(bytes.map((byte) => (byte === LINE_FEED || byte === RETURN ? SPACE : byte)));
}

/** The row without the columns that the server computes. */
function withoutComputed(bytes: Buffer, keys: readonly Expected[]): Buffer {
  const kept: string[] = [];
  let at = skipSpace(bytes, startOfRow(bytes) + 1);
  for (const { column } of keys) {
    const end = endOfValue(bytes, valueAfter(bytes, endOfText(bytes, at + 1)), ANYTHING, 0);
    if (!column?.isComputed) kept.push(bytes.toString('latin1', at, end));
    at = nextMember(bytes, end);
  }
  return Buffer.from(`{${kept.join(',')}}`, 'latin1');
}
