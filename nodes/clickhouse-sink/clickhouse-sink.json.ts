/** The grammar of JSON over bytes: each function gets where something begins and gives where it ends. */

/** Why a record can't be stored; `column` where it is about one. */
export class RowFault extends Error {
  constructor(
    message: string,
    readonly column?: string,
  ) {
    super(message);
    this.name = 'RowFault';
  }
}

export const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
export const COMMA = 0x2c;
export const OPEN = 0x7b;
export const CLOSE = 0x7d;
export const OPEN_LIST = 0x5b;
export const CLOSE_LIST = 0x5d;
const SPACE = 0x20;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const UNICODE = 0x75;

export const notJson = (at: number) => new RowFault(`the payload stops being one JSON object at byte ${at}`);

/** A byte; -1 behind the end. */
export const byteAt = (bytes: Buffer, at: number) => (at < bytes.length ? (bytes[at] as number) : -1);

export function skipSpace(bytes: Buffer, start: number): number {
  let at = start;
  for (;;) {
    const byte = byteAt(bytes, at);
    if (byte !== SPACE && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
    at += 1;
  }
}

/** Up to here a loop is faster than a call. */
const SHORT_TEXT = 24;
const NOT_PLAIN = /[\\\0-\x1f]/;

/** From behind the opening quote to the closing one. */
export function endOfText(bytes: Buffer, start: number): number {
  let at = start;
  for (const short = start + SHORT_TEXT; at < short; at += 1) {
    const byte = byteAt(bytes, at);
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH || byte < SPACE) return endOfOddText(bytes, at);
  }
  const end = bytes.indexOf(QUOTE, at);
  if (end < 0 || NOT_PLAIN.test(bytes.toString('latin1', at, end))) return endOfOddText(bytes, at);
  return end;
}

/** The same for a text with escapes, or with what must not be in one. */
function endOfOddText(bytes: Buffer, start: number): number {
  let at = start;
  for (;;) {
    const byte = byteAt(bytes, at);
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at = endOfEscape(bytes, at + 1);
    else if (byte < SPACE) throw notJson(at);
    else at += 1;
  }
}

const ESCAPES = new Set(Buffer.from('"\\/bfnrt'));

function endOfEscape(bytes: Buffer, at: number): number {
  const kind = byteAt(bytes, at);
  if (ESCAPES.has(kind)) return at + 1;
  if (kind !== UNICODE || !/^[\da-f]{4}$/i.test(bytes.toString('latin1', at + 1, at + 5))) throw notJson(at);
  return at + 5;
}

function endOfDigits(bytes: Buffer, start: number): number {
  let at = start;
  for (;;) {
    const byte = byteAt(bytes, at);
    if (byte < ZERO || byte > NINE) break;
    at += 1;
  }
  if (at === start) throw notJson(at);
  return at;
}

export function endOfNumber(bytes: Buffer, start: number): number {
  const first = byteAt(bytes, start) === MINUS ? start + 1 : start;
  let at = byteAt(bytes, first) === ZERO ? first + 1 : endOfDigits(bytes, first);
  if (byteAt(bytes, at) === POINT) at = endOfDigits(bytes, at + 1);
  if ((byteAt(bytes, at) | 0x20) !== 0x65) return at;
  const sign = byteAt(bytes, at + 1);
  return endOfDigits(bytes, sign === MINUS || sign === 0x2b ? at + 2 : at + 1);
}

const LITERALS = new Map(['true', 'false', 'null'].map((word) => [word.charCodeAt(0), Buffer.from(word)]));

export function endOfLiteral(bytes: Buffer, start: number): number {
  const word = LITERALS.get(byteAt(bytes, start));
  if (!word) return start;
  const end = start + word.length;
  if (bytes.compare(word, 0, word.length, start, Math.min(end, bytes.length)) !== 0) throw notJson(start);
  return end;
}

/** Key in the scanner's form; one with escapes is read as JSON. */
export function keyBetween(bytes: Buffer, start: number, end: number): string {
  const key = bytes.toString('latin1', start, end);
  if (!key.includes('\\')) return key;
  return Buffer.from(JSON.parse(`"${bytes.toString('utf8', start, end)}"`) as string).toString('latin1');
}

/** Where the value of a key begins whose text ends at `end`. */
export function valueAfter(bytes: Buffer, end: number): number {
  const colon = skipSpace(bytes, end + 1);
  if (byteAt(bytes, colon) !== COLON) throw notJson(colon);
  return skipSpace(bytes, colon + 1);
}
