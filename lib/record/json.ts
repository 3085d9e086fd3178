/**
 * JSON of which nothing is stored silently wrong. What JSON.parse would quietly drop, round or leave to chance is
 * refused, or kept as text where that loses nothing:
 *
 *   the same key twice in one object    refused: JSON.parse keeps the last, other readers the first
 *   the key `__proto__`                 refused: it vanishes when code copies the object
 *   a number that no double can hold    its digits, as text: see exact-numbers
 *   more than 512 levels                refused: cloning or writing such a value overflows the stack
 *
 * Whatever else is JSON is taken as JSON.parse does; that includes half surrogate pairs in escapes. Each check begins
 * with a look so cheap that a record without such things pays next to nothing.
 */
import {
  countPossibleKeys,
  findDuplicateKey,
  hasLongNumber,
  hasNegativeExponent,
  quoteInexactNumbers,
} from './json-text';
import { jsonDepthExceeds } from './json-depth';
import { MAX_DEPTH, tooDeep } from './depth';
import { RecordError } from './record-error';

/** From here on the depth is looked at before parsing: a hundred megabytes of brackets would take all memory. */
const SCAN_FIRST_CHARACTERS = 1_048_576;
function syntaxError(text: string, error: unknown): RecordError {
  if (text.trim() === '') {
    return new RecordError('ERR_SLUICE_DECODE_SYNTAX', 'the payload is empty; JSON was expected');
  }
  // The engine's own message quotes the payload.
  const at = error instanceof Error ? /at position (\d+)/.exec(error.message)?.[1] : undefined;
  const place = at === undefined ? '' : `: it stops being JSON at character ${at}`;
  return new RecordError('ERR_SLUICE_DECODE_SYNTAX', `the payload is not JSON${place}`);
}

const keyError = (text: string) => new RecordError('ERR_SLUICE_DECODE_KEY', text);

/** What a parsed value tells of its text. */
interface Seen {
  /** Keys of all its objects together. */
  keys: number;
  hasProto: boolean;
  /** A zero or a number next to it: what was written may have been smaller than a double can be. */
  hasTiny: boolean;
  /** What was written is larger than a double can be. */
  hasInfinite: boolean;
}

/** The smallest double that has all its digits. */
const LEAST_NORMAL = 2 ** -1022;

/** A number of the value that may not be the one that was written. */
function seeOdd(number: number, seen: Seen): void {
  if (Math.abs(number) < LEAST_NORMAL) seen.hasTiny = true;
  else seen.hasInfinite = true;
}

const isOrdinary = (number: number) =>
  (number >= LEAST_NORMAL && number <= Number.MAX_VALUE) ||
  (number <= -LEAST_NORMAL && number >= -Number.MAX_VALUE);

function see(value: object, depth: number, seen: Seen): void {
  if (depth > MAX_DEPTH) throw tooDeep();
  if (Array.isArray(value)) {
    for (const inner of value as readonly unknown[]) {
      if (typeof inner === 'object') {
        if (inner !== null) see(inner, depth + 1, seen);
      } else if (typeof inner === 'number' && !isOrdinary(inner)) seeOdd(inner, seen);
    }
    return;
  }
  const object = value as Readonly<Record<string, unknown>>;
  // In place of Object.keys: no list is made.
  for (const key in object) {
    const inner = object[key];
    seen.keys += 1;
    if (key === '__proto__') seen.hasProto = true;
    if (typeof inner === 'object') {
      if (inner !== null) see(inner, depth + 1, seen);
    } else if (typeof inner === 'number' && !isOrdinary(inner)) seeOdd(inner, seen);
  }
}

/** Some code has put something enumerable on Object.prototype: then keys can't be counted. */
function isPrototypePolluted(): boolean {
  for (const _ in {}) return true;
  return false;
}

function mayBeInexact(text: string, { hasTiny, hasInfinite }: Seen): boolean {
  if (hasInfinite || hasLongNumber(text)) return true;
  return hasTiny && hasNegativeExponent(text);
}

/**
 * Throws RecordError (`ERR_SLUICE_DECODE_…`) for what isn't JSON, or isn't JSON that means one thing only. `takesProto` keeps
 * a key `__proto__` as an own property.
 */
export function parseJson(text: string, { takesProto = false } = {}): unknown {
  if (text.length > SCAN_FIRST_CHARACTERS && jsonDepthExceeds(text, MAX_DEPTH)) throw tooDeep();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw syntaxError(text, error);
  }
  const seen: Seen = { keys: 0, hasProto: false, hasTiny: false, hasInfinite: false };
  if (typeof value === 'object' && value !== null) see(value, 1, seen);
  else if (typeof value === 'number' && !isOrdinary(value)) seeOdd(value, seen);
  if (seen.keys !== countPossibleKeys(text) || isPrototypePolluted()) {
    const key = findDuplicateKey(text);
    if (key !== undefined)
      throw keyError(`the key ${JSON.stringify(key.slice(0, 64))} is there twice in one object`);
  }
  if (seen.hasProto && !takesProto) throw keyError('the key "__proto__" is not taken');
  if (mayBeInexact(text, seen)) {
    const quoted = quoteInexactNumbers(text);
    if (quoted !== undefined) return JSON.parse(quoted) as unknown;
  }
  return value;
}
