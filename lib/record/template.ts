/**
 * Mustache over a record, read by the mustache package and written here: what it writes is data, so nothing is escaped as
 * HTML, a name that isn't there is an error instead of nothing, and only own fields of objects are read, never what they
 * inherit. A name is looked for in the innermost section first, last in the message.
 */
import { createRequire } from 'node:module';
import { ConfigError } from '../errors/errors';
import { parseJson } from './json';
import { RecordError } from './record-error';

/** A token of mustache.js: type, name or text, where it begins and ends, tokens inside, where the inside ends. */
type Token = readonly [string, string, number, number, (readonly Token[])?, number?];

type Output = 'string' | 'json';

export interface TemplateOptions {
  readonly output: Output;
  /** A variable that isn't there fails the record; else it is left empty. */
  readonly strict: boolean;
}

const mustache = createRequire(__filename)('mustache') as { parse(template: string): readonly Token[] };

const MISSING = Symbol('missing');
type Found = unknown;

const syntaxError = (reason: string, cause?: unknown) =>
  new ConfigError('ERR_SLUICE_TEMPLATE_SYNTAX', `the template can't be used: ${reason}`, { cause });
const failed = (text: string) => new RecordError('ERR_SLUICE_TEMPLATE_FAILED', text);

function parse(template: string): readonly Token[] {
  let tokens: readonly Token[];
  try {
    tokens = mustache.parse(template);
  } catch (cause) {
    throw syntaxError(cause instanceof Error ? cause.message : String(cause), cause);
  }
  refusePartials(tokens);
  return tokens;
}

function refusePartials(tokens: readonly Token[]): void {
  for (const [type, name, , , inner = []] of tokens) {
    if (type === '>') throw syntaxError(`it includes the partial "${name}", and there are none here`);
    refusePartials(inner);
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/** The steps of a dotted name from the innermost level that has the first one. */
function lookUp(levels: readonly unknown[], name: string): Found {
  if (name === '.') return levels.at(-1);
  const steps = name.split('.');
  const [first = ''] = steps;
  const start = levels.findLast((level) => isObject(level) && Object.hasOwn(level, first));
  let value: unknown = start;
  for (const step of steps) {
    if (!isObject(value) || !Object.hasOwn(value, step)) return MISSING;
    value = value[step];
  }
  return value;
}

/** Values as JSON: within quotes of the template a text is its inside. */
function written(value: unknown, name: string, output: Output): string {
  switch (typeof value) {
    case 'string':
      return output === 'json' ? JSON.stringify(value).slice(1, -1) : value;
    case 'number':
      if (!Number.isFinite(value)) throw failed(`the variable "${name}" is ${value}, which can't be written`);
      return String(value);
    case 'boolean':
    case 'bigint':
      return String(value);
    case 'object':
      if (value === null) return output === 'json' ? 'null' : '';
      return toJson(value, name);
    default:
      throw failed(`the variable "${name}" is of type ${typeof value}, which can't be written`);
  }
}

function toJson(value: object, name: string): string {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    throw new RecordError('ERR_SLUICE_TEMPLATE_FAILED', `the variable "${name}" has no JSON form`, { cause });
  }
}

const isEmpty = (value: Found) =>
  value === MISSING ||
  value === undefined ||
  value === null ||
  value === false ||
  value === '' ||
  value === 0 ||
  (Array.isArray(value) && value.length === 0);

class Writer {
  constructor(private readonly options: TemplateOptions) {}

  write(tokens: readonly Token[], levels: readonly unknown[]): string {
    let text = '';
    for (const [type, name, , , inner = []] of tokens) {
      if (type === 'text') text += name;
      else if (type === '#') text += this.section(inner, lookUp(levels, name), levels);
      else if (type === '^') text += isEmpty(lookUp(levels, name)) ? this.write(inner, levels) : '';
      else if (type === 'name' || type === '&') text += this.variable(name, lookUp(levels, name));
    }
    return text;
  }

  private section(inner: readonly Token[], value: Found, levels: readonly unknown[]): string {
    if (isEmpty(value)) return '';
    if (!Array.isArray(value)) return this.write(inner, [...levels, value]);
    let text = '';
    for (const item of value) text += this.write(inner, [...levels, item]);
    return text;
  }

  private variable(name: string, value: Found): string {
    if (value !== MISSING && value !== undefined) return written(value, name, this.options.output);
    if (this.options.strict) throw failed(`the variable "${name}" is missing in the record`);
    return '';
  }
}

/** What a template makes of a record: the text, and the value that it is as JSON. */
export interface Written {
  readonly text: string;
  /** The text itself where the output isn't JSON. */
  readonly value: unknown;
}

function parseWritten(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    const reason = error.message.replace('the payload', 'it');
    throw new RecordError('ERR_SLUICE_TEMPLATE_NOT_JSON', `what the template makes is not JSON: ${reason}`);
  }
}

/**
 * Compiles a template. The result writes a record; names that it lacks are looked for in the message. Throws ConfigError
 * (`ERR_SLUICE_TEMPLATE_SYNTAX`) here, RecordError (`ERR_SLUICE_TEMPLATE_…`) for a record.
 */
export function compileTemplate(
  template: string,
  options: TemplateOptions,
): (record: unknown, message?: object) => Written {
  const tokens = parse(template);
  const writer = new Writer(options);
  return (record, message = {}) => {
    let text: string;
    try {
      text = writer.write(tokens, [message, record]);
    } catch (error) {
      // Nested too deep for JSON.stringify, or longer than a string can be.
      if (!(error instanceof RangeError)) throw error;
      throw new RecordError('ERR_SLUICE_TEMPLATE_FAILED', 'what the template makes is too large', {
        cause: error,
      });
    }
    return { text, value: options.output === 'json' ? parseWritten(text) : text };
  };
}
