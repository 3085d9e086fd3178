/** What a user may write as SQL: one SELECT. Checked before any engine sees it, so that it can't leave its place. */
import { ConfigError } from '../../errors/errors';

const wrong = (reason: string) =>
  new ConfigError('ERR_SLUICE_TRANSFORM_EXPRESSION', `the SQL can't be used: ${reason}`);

/** The pieces of SQL that may hold brackets or semicolons without meaning them, as PostgreSQL reads them. */
const PIECES: readonly (readonly [RegExp, string])[] = [
  [/--[^\n]*/y, 'comment'],
  [/[eE]'(?:[^'\\]|\\[\s\S]|'')*'/y, 'text'],
  [/'(?:[^']|'')*'/y, 'text'],
  [/"(?:[^"]|"")*"/y, 'name'],
  [/\$([A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$[\s\S]*?\$\1\$/y, 'text'],
  [/\$\d+/y, 'parameter'],
  [/[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/y, 'word'],
  [/\d[\w.]*/y, 'number'],
];

/** Index after a block comment, which may hold others. */
function endOfComment(sql: string, start: number): number {
  let depth = 0;
  for (let at = start; at < sql.length; at += 1) {
    const pair = sql.slice(at, at + 2);
    if (pair === '/*') depth += 1;
    else if (pair === '*/') depth -= 1;
    else continue;
    at += 1;
    if (depth === 0) return at + 1;
  }
  throw wrong('a comment is not closed');
}

interface Piece {
  readonly kind: string;
  readonly text: string;
  readonly end: number;
}

function pieceAt(sql: string, at: number): Piece {
  if (sql.startsWith('/*', at)) return { kind: 'comment', text: '', end: endOfComment(sql, at) };
  for (const [pattern, kind] of PIECES) {
    pattern.lastIndex = at;
    const [text] = pattern.exec(sql) ?? [];
    if (text !== undefined) return { kind, text, end: at + text.length };
  }
  const text = sql[at] ?? '';
  if (text === "'" || text === '"') throw wrong('a quote is not closed');
  return { kind: 'sign', text, end: at + 1 };
}

/**
 * The one SELECT that the text is, without the semicolon at its end. Throws ConfigError for anything else: several
 * statements, brackets that close what they didn't open, parameters.
 */
export function singleSelect(text: string): string {
  let depth = 0;
  let first: string | undefined;
  let end: number | undefined;
  for (let at = 0; at < text.length;) {
    const { kind, text: piece, end: next } = pieceAt(text, at);
    const isBlank = kind === 'comment' || piece.trim() === '';
    if (!isBlank && end !== undefined) throw wrong('only one statement is taken');
    if (kind === 'parameter') throw wrong(`it has the parameter ${piece}, and there are none`);
    if (kind === 'sign' && piece === '(') depth += 1;
    else if (kind === 'sign' && piece === ')') depth -= 1;
    else if (kind === 'sign' && piece === ';') end = at;
    if (depth < 0) throw wrong('a bracket is closed that was not opened');
    if (!isBlank) first ??= piece;
    at = next;
  }
  if (depth > 0) throw wrong('a bracket is not closed');
  if (first === undefined || !/^(?:select|with)$/i.test(first)) throw wrong('it has to be a SELECT');
  return text.slice(0, end ?? text.length);
}
