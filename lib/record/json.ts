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
import { jsonDepthExceeds } from './json-depth';
import { countPossibleKeys, findDuplicateKey, quoteInexactNumbers } from './json-text';
import { MAX_DEPTH, tooDeep } from './depth';
import { RecordError } from './record-error';

/** From here on the depth is looked at before parsing: a hundred megabytes of brackets would take all memory. */
const SCAN_FIRST_CHARACTERS = 65_536;
const MAYBE_PROTO = /__proto__|\\u005f/i;
/** Sixteen digits, perhaps around a point, or an exponent of three. */
const MAYBE_INEXACT = /[0-9.]{16}|[0-9][eE][+-]?[0-9]{3}/;

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

/** Keys of all objects in the value. */
function countKeys(value: unknown, depth: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (depth > MAX_DEPTH) throw tooDeep();
  let count = 0;
  if (Array.isArray(value)) {
    for (const element of value) count += countKeys(element, depth + 1);
    return count;
  }
  const object = value as Record<string, unknown>;
  const keys = Object.keys(object);
  for (const key of keys) count += countKeys(object[key], depth + 1);
  return count + keys.length;
}

function hasProtoKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.hasOwn(value, '__proto__') || Object.values(value).some(hasProtoKey);
}

/** Throws RecordError (`ERR_SLUICE_DECODE_…`) for what isn't JSON, or isn't JSON that means one thing only. */
export function parseJson(text: string): unknown {
  if (text.length > SCAN_FIRST_CHARACTERS && jsonDepthExceeds(text, MAX_DEPTH)) throw tooDeep();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw syntaxError(text, error);
  }
  if (countKeys(value, 1) !== countPossibleKeys(text)) {
    const key = findDuplicateKey(text);
    if (key !== undefined)
      throw keyError(`the key ${JSON.stringify(key.slice(0, 64))} is there twice in one object`);
  }
  if (MAYBE_PROTO.test(text) && hasProtoKey(value)) throw keyError('the key "__proto__" is not taken');
  if (MAYBE_INEXACT.test(text)) {
    const quoted = quoteInexactNumbers(text);
    if (quoted !== undefined) return JSON.parse(quoted) as unknown;
  }
  return value;
}
