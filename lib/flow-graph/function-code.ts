/**
 * Whether a function node's code sends after it counts as finished: `node.send` in a callback that nobody awaits, in code
 * that never calls `node.done()`. A judgement by structure, not a JavaScript parser: what it can't place counts as late,
 * because a record taken for done too early may be lost in silence, while an untrackable one is only shown as such.
 */
import { blankLiterals } from './function-literals';
import { structureOf, type CodeStructure, type InnerFunction } from './function-structure';

/** They call their callback before they return. */
const AT_ONCE = new Set([
  ...['forEach', 'map', 'flatMap', 'filter', 'reduce', 'reduceRight', 'some', 'every', 'find', 'findIndex'],
  ...['sort', 'replace', 'replaceAll', 'from', 'Promise'],
]);
/** Awaiting what these return doesn't wait for their callback. */
const DETACHED = new Set([
  ...['setTimeout', 'setInterval', 'setImmediate', 'nextTick', 'queueMicrotask'],
  ...['on', 'once', 'addListener', 'prependListener', 'addEventListener'],
]);
const WAITS = /\b(?:await|return)\b/;
const NO_CALL = new Set(['if', 'for', 'while', 'switch', 'return', 'await', 'typeof', 'in', 'of', '']);

/** The name before an argument list, or '' when the bracket is no call's. */
function calleeAt(code: string, opener: number): string {
  if (code[opener] !== '(') return '';
  const name = /([\w$]+)\s*$/.exec(code.slice(Math.max(0, opener - 200), opener))?.[1] ?? '';
  return NO_CALL.has(name) ? '' : name;
}

class Lateness {
  private readonly judging = new Set<InnerFunction>();

  constructor(private readonly structure: CodeStructure) {}

  /** Does the code at this position run after the whole code has ended? */
  at(position: number): boolean {
    return this.around(position).some((inner) => this.of(inner));
  }

  /** A function that is handed over at this position instead of being called. */
  handedOver(position: number, async: boolean): boolean {
    const { code } = this.structure;
    const opener = this.structure.openerOf(position);
    const callee = calleeAt(code, opener);
    if (callee === '') return true;
    if (DETACHED.has(callee)) return !this.around(position).some((inner) => this.isAwaitedExecutor(inner));
    if (AT_ONCE.has(callee) && !async) return false;
    return !this.isAwaited(opener);
  }

  private around(position: number): InnerFunction[] {
    return this.structure.functions.filter(
      ({ bodyStart, bodyEnd }) => bodyStart <= position && position < bodyEnd,
    );
  }

  private isAwaited(position: number): boolean {
    return WAITS.test(this.structure.code.slice(this.structure.statementStart(position), position));
  }

  private isAwaitedExecutor({ start }: InnerFunction): boolean {
    const opener = this.structure.openerOf(start);
    return calleeAt(this.structure.code, opener) === 'Promise' && this.isAwaited(opener);
  }

  private of(inner: InnerFunction): boolean {
    if (this.judging.has(inner)) return false;
    this.judging.add(inner);
    const late = inner.name === '' ? this.ofUnnamed(inner) : this.ofNamed(inner);
    this.judging.delete(inner);
    return late;
  }

  private ofUnnamed({ start, bodyEnd, async }: InnerFunction): boolean {
    const { code } = this.structure;
    const calledOnTheSpot = /^\s*\}?\s*\)?\s*\(/.test(code.slice(bodyEnd, bodyEnd + 200));
    const opener = this.structure.openerOf(start);
    if (calledOnTheSpot && calleeAt(code, opener) === '') return async && !this.isAwaited(start);
    return this.handedOver(start, async);
  }

  private ofNamed({ name, start, async }: InnerFunction): boolean {
    const { code } = this.structure;
    const uses = new RegExp(`(?<![\\w$.])${name.replaceAll('$', '\\$')}(?![\\w$])(\\s*\\()?`, 'g');
    return [...code.matchAll(uses)].some((use) => {
      const before = code.slice(Math.max(0, use.index - 20), use.index);
      const after = code.slice(use.index + use[0].length);
      const declares =
        /\bfunction\s*\*?\s*$/.test(before) || /^\s*=(?![=>])/.test(after) || use.index === start;
      if (declares) return false;
      if (use[1] === undefined) return this.handedOver(use.index, async);
      return (async && !this.isAwaited(use.index)) || this.at(use.index);
    });
  }
}

/** True when the code of a function node may send after the runtime took it for finished. */
export function sendsLater(source: string): boolean {
  if (!source.includes('node.send')) return false;
  const code = blankLiterals(source);
  // Where the code has this very call, the runtime leaves it to the code to say when it is done.
  if (/\bnode\.done\s*\(\s*\)/.test(code)) return false;
  const lateness = new Lateness(structureOf(code));
  return [...code.matchAll(/\bnode\.send\b(\s*\()?/g)].some(
    ({ index, 1: called }) =>
      lateness.at(index) || (called === undefined && lateness.handedOver(index, false)),
  );
}
