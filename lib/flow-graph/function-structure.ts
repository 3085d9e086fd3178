/** The bracket structure of blanked JavaScript and the functions in it: enough to ask who calls a piece of code, and when. */

export interface InnerFunction {
  /** Offset where `async`, `function` or the parameters begin. */
  readonly start: number;
  readonly bodyStart: number;
  readonly bodyEnd: number;
  /** Name that other code calls it by; '' for one that is passed on or called on the spot. */
  readonly name: string;
  readonly async: boolean;
}

export interface CodeStructure {
  readonly code: string;
  /** Offset of the bracket around a position, -1 outside of all. */
  openerOf(at: number): number;
  readonly functions: readonly InnerFunction[];
  /** Offset where the statement that a position belongs to begins. */
  statementStart(at: number): number;
}

const FUNCTION = /(?<async>\basync\s+)?\bfunction\b\s*\*?\s*(?<name>[\w$]*)\s*\(|(?<arrow>=>)/g;
const ASSIGNED = /([\w$]+)\s*=\s*$/;

function matchBrackets(code: string) {
  const around = new Int32Array(code.length + 1).fill(-1);
  const closers = new Map<number, number>();
  const openers = new Map<number, number>();
  const open: number[] = [];
  for (let at = 0; at <= code.length; at++) {
    const char = code[at];
    if (char === ')' || char === ']' || char === '}') {
      const opener = open.pop();
      if (opener !== undefined) {
        closers.set(opener, at);
        openers.set(at, opener);
      }
    }
    around[at] = open.at(-1) ?? -1;
    if (char === '(' || char === '[' || char === '{') open.push(at);
  }
  return { around, closers, openers };
}

/** A line break ends a statement unless this line, or the next one, obviously goes on. */
function breaksOff(code: string, at: number): boolean {
  const line = code.slice(code.lastIndexOf('\n', at - 1) + 1, at);
  const next = /\S/.exec(code.slice(at, at + 200))?.[0] ?? ';';
  return !/[.,?:&|+\-*/=<>([{]\s*$/.test(line) && !'.,?:&|+-*=<>)]'.includes(next);
}

/** Enough of what precedes a position to recognise it by; looking at all of it each time would take quadratic time. */
const before = (code: string, at: number) => code.slice(Math.max(0, at - 200), at);

export function structureOf(code: string): CodeStructure {
  const { around, closers, openers } = matchBrackets(code);
  const openerOf = (at: number) => around[at] ?? -1;

  /** Is this the last character of a statement in the block around it? */
  const ends = (at: number): boolean => {
    const char = code[at];
    if (char === ';') return true;
    if (char === '}') return !/^\s*[.),(\]]/.test(code.slice(at + 1, at + 200));
    return char === '\n' && breaksOff(code, at);
  };
  const statementStart = (position: number): number => {
    let block = openerOf(position);
    while (block >= 0 && code[block] !== '{') block = openerOf(block);
    for (let at = position - 1; at > block; at--) if (openerOf(at) === block && ends(at)) return at + 1;
    return block + 1;
  };
  /** An arrow's expression goes on to the comma, bracket or statement's end that its own surroundings see. */
  const expressionEnd = (from: number): number => {
    const home = openerOf(from);
    const last = closers.get(home) ?? code.length;
    for (let at = from; at < last; at++) {
      if (openerOf(at) === home && (code[at] === ',' || (ends(at) && code.slice(from, at).trim() !== '')))
        return at;
    }
    return last;
  };

  const describe = (match: RegExpExecArray): InnerFunction => {
    let start = match.index;
    let async = match.groups?.async !== undefined;
    let body = match.index + match[0].length;
    if (match.groups?.arrow) {
      const parameters = start - (/\s*$/.exec(before(code, start))?.[0].length ?? 0);
      const list = code[parameters - 1] === ')' ? openers.get(parameters - 1) : undefined;
      start = list ?? parameters - (/[\w$]+$/.exec(before(code, parameters))?.[0].length ?? 0);
      const keyword = /\basync\s*$/.exec(before(code, start));
      if (keyword) start -= keyword[0].length;
      async = keyword !== null;
    } else body = (closers.get(body - 1) ?? code.length) + 1;
    const brace = /^\s*\{/.exec(code.slice(body, body + 400))?.[0].length;
    const bodyStart = brace === undefined ? body : body + brace;
    const bodyEnd = brace === undefined ? expressionEnd(body) : (closers.get(bodyStart - 1) ?? code.length);
    const assigned = ASSIGNED.exec(before(code, start))?.[1];
    const declared = /[(,=:?&|]\s*$/.test(before(code, start)) ? '' : (match.groups?.name ?? '');
    return { start, bodyStart, bodyEnd, name: assigned ?? declared, async };
  };
  const functions = [...code.matchAll(FUNCTION)].map(describe);
  return { code, openerOf, functions, statementStart };
}
