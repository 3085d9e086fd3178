/** Blanks what is no code (comments, strings, regular expressions, text of templates), so that brackets and names can be trusted. */

/** After these a slash begins a regular expression; after a value it divides. */
const BEFORE_REGEX = /(?:^|[(,=:[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of|await|void|delete))\s*$/;
const SLASHED = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*/y;
const QUOTED = /'(?:\\[^]|[^'\\\n])*'?|"(?:\\[^]|[^"\\\n])*"?/y;
const COMMENT = /\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)/y;
const TEMPLATE_TEXT = /(?:\\[^]|\$(?!\{)|[^\\`$])*/y;

const blank = (text: string) => text.replace(/[^\n]/g, ' ');

/** The same code, same length and line breaks, with spaces for all that isn't code. */
export function blankLiterals(code: string): string {
  let out = '';
  /** Open braces since each `${` that is being read. */
  const expressions: number[] = [];
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = out.length;
    const match = pattern.exec(code)?.[0];
    if (!match) return false;
    out += blank(match);
    return true;
  };
  const template = () => {
    take(TEMPLATE_TEXT);
    if (code.startsWith('${', out.length)) {
      out += '  ';
      expressions.push(0);
    } else if (out.length < code.length) out += ' ';
  };
  while (out.length < code.length) {
    const char = code.charAt(out.length);
    const depth = expressions.at(-1);
    if (char === '`') {
      out += ' ';
      template();
    } else if (char === '}' && depth === 0) {
      expressions.pop();
      out += ' ';
      template();
    } else if ((char === '"' || char === "'") && take(QUOTED)) continue;
    else if (char === '/' && take(COMMENT)) continue;
    else if (char === '/' && BEFORE_REGEX.test(out.slice(-200)) && take(SLASHED)) continue;
    else {
      if (depth !== undefined && char === '{') expressions[expressions.length - 1] = depth + 1;
      if (depth !== undefined && char === '}') expressions[expressions.length - 1] = depth - 1;
      out += char;
    }
  }
  return out;
}
