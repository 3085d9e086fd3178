/** Looks at a JSON text that JSON.parse has taken for valid, for what the parsed value no longer tells. */
import { isExact } from './exact-numbers';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const POINT = 0x2e;
const SMALL_E = 0x65;
const LARGE_E = 0x45;
/** Characters from which on a number may hold more digits than a double, a point among them. */
const LONG_NUMBER = 16;
const isSpace = (character: number) =>
  character <= 0x20 && (character === 0x20 || character === 0x0a || character === 0x0d || character === 0x09);
const isDigit = (character: number) => character >= 0x30 && character <= 0x39;

/** Index after the string that begins at `at`. */
function endOfString(text: string, at: number): number {
  for (let end = at + 1; end < text.length; end += 1) {
    const character = text.charCodeAt(end);
    if (character === BACKSLASH) end += 1;
    else if (character === QUOTE) return end + 1;
  }
  return text.length;
}

/**
 * Colons that follow a quote. Each key of an object has one, so there are at least as many as keys; a string that begins
 * with a colon, or holds an escaped quote before one, adds to it.
 */
export function countPossibleKeys(text: string): number {
  let count = 0;
  for (let at = text.indexOf(':'); at !== -1; at = text.indexOf(':', at + 1)) {
    let before = at - 1;
    while (isSpace(text.charCodeAt(before))) before -= 1;
    if (text.charCodeAt(before) === QUOTE) count += 1;
  }
  return count;
}

const isDigitOrPoint = (character: number) => isDigit(character) || character === POINT;

/** Whether a number may be longer than a double can hold. A run of so many digits can't pass between two looks. */
export function hasLongNumber(text: string): boolean {
  for (let look = LONG_NUMBER - 1; look < text.length; look += LONG_NUMBER) {
    if (!isDigitOrPoint(text.charCodeAt(look))) continue;
    let start = look;
    while (look - start < LONG_NUMBER && isDigitOrPoint(text.charCodeAt(start - 1))) start -= 1;
    let end = look + 1;
    while (end - start < LONG_NUMBER && isDigitOrPoint(text.charCodeAt(end))) end += 1;
    if (end - start >= LONG_NUMBER) return true;
  }
  return false;
}

/** Whether a number may have a negative exponent. */
export function hasNegativeExponent(text: string): boolean {
  for (let at = text.indexOf('-'); at !== -1; at = text.indexOf('-', at + 1)) {
    const before = text.charCodeAt(at - 1);
    if ((before === SMALL_E || before === LARGE_E) && isDigit(text.charCodeAt(at - 2))) return true;
  }
  return false;
}

/** The first key that an object of the text has twice, spelled in whatever escapes. */
export function findDuplicateKey(text: string): string | undefined {
  const open: Set<string>[] = [];
  for (let at = 0; at < text.length;) {
    const character = text[at];
    if (character !== '"') {
      if (character === '{' || character === '[') open.push(new Set());
      else if (character === '}' || character === ']') open.pop();
      at += 1;
      continue;
    }
    const end = endOfString(text, at);
    let after = end;
    while (isSpace(text.charCodeAt(after))) after += 1;
    if (text.charCodeAt(after) === COLON) {
      const key = JSON.parse(text.slice(at, end)) as string;
      const keys = open.at(-1);
      if (keys?.has(key)) return key;
      keys?.add(key);
    }
    at = end;
  }
  return undefined;
}

/** The text with quotes around the numbers that a double can't hold; undefined where there are none. */
export function quoteInexactNumbers(text: string): string | undefined {
  let quoted = '';
  let copied = 0;
  for (let at = 0; at < text.length;) {
    const character = text.charCodeAt(at);
    if (character === QUOTE) {
      at = endOfString(text, at);
      continue;
    }
    if (character !== 0x2d && !isDigit(character)) {
      at += 1;
      continue;
    }
    let end = at + 1;
    while (isNumberPart(text.charCodeAt(end))) end += 1;
    const literal = text.slice(at, end);
    if (!isExact(literal)) {
      quoted += `${text.slice(copied, at)}"${literal}"`;
      copied = end;
    }
    at = end;
  }
  return copied === 0 ? undefined : quoted + text.slice(copied);
}

/** `.`, `+`, `-`, `e`, `E` or a digit. */
function isNumberPart(character: number): boolean {
  return (
    isDigit(character) ||
    character === POINT ||
    character === 0x2b ||
    character === 0x2d ||
    character === SMALL_E ||
    character === LARGE_E
  );
}
