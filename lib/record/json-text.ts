/** Looks at a JSON text that JSON.parse has taken for valid, for what the parsed value no longer tells. */
import { isExact } from './exact-numbers';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const isSpace = (character: number) =>
  character === 0x20 || character === 0x0a || character === 0x0d || character === 0x09;
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
    character === 0x2e ||
    character === 0x2b ||
    character === 0x2d ||
    character === 0x65 ||
    character === 0x45
  );
}
