/** ClickHouse's types, as far as a value can be stored silently wrong in one. */
import {
  dateCheck,
  decimalCheck,
  floatCheck,
  integerCheck,
  type ScalarCheck,
} from './clickhouse-sink.values';

/** What a JSON value has to be like to be stored as it is. */
export interface ValueCheck {
  /** Whether null is stored as such. */
  readonly takesNull: boolean;
  readonly scalar?: ScalarCheck;
  /** Of an array. */
  readonly element?: ValueCheck;
  /** Of an object with any keys. */
  readonly value?: ValueCheck;
  /** Of an object with these keys and no others. */
  readonly fields?: ReadonlyMap<string, ValueCheck>;
}

export const ANYTHING: ValueCheck = { takesNull: true };

interface Type {
  readonly name: string;
  /** As written, without spaces around. */
  readonly args: readonly string[];
}

/** `Tuple(a UInt8, b Array(String))` is a name and two arguments. */
function parseType(text: string): Type {
  const open = text.indexOf('(');
  if (open < 0 || !text.endsWith(')')) return { name: text.trim(), args: [] };
  const args: string[] = [];
  let depth = 0;
  let start = open + 1;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (character === "'" || character === '`') at = endOfQuoted(text, at);
    else if (character === '(') depth += 1;
    else if (character === ')' && depth > 0) depth -= 1;
    else if (character === ',' || character === ')') {
      if (depth > 0) continue;
      args.push(text.slice(start, at).trim());
      start = at + 1;
    }
  }
  return { name: text.slice(0, open).trim(), args };
}

function endOfQuoted(text: string, open: number): number {
  let at = open + 1;
  while (at < text.length && text[at] !== text[open]) at += text[at] === '\\' ? 2 : 1;
  return at;
}

/** `name Type` of a named element; `name` is undefined where there is none. */
function namedType(text: string): { readonly name: string | undefined; readonly type: string } {
  const found = /^(?:`((?:[^`\\]|\\.)+)`|([A-Za-z_]\w*))\s+(?=[A-Z])(.+)$/s.exec(text);
  const [, quoted, plain, type = text] = found ?? [];
  return { name: quoted?.replaceAll(/\\(.)/g, '$1') ?? plain, type };
}

const INTEGER = /^(U?)Int(8|16|32|64|128|256)$/;
const FLOAT = /^(?:Float|BFloat)(16|32|64)$/;

function scalarOf({ name, args }: Type): ScalarCheck | undefined {
  const [, unsigned, size] = INTEGER.exec(name) ?? [];
  if (size !== undefined) {
    const bits = BigInt(size);
    if (unsigned) return integerCheck(0n, 2n ** bits - 1n, name);
    return integerCheck(-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n, name);
  }
  const [, floatSize] = FLOAT.exec(name) ?? [];
  if (floatSize !== undefined) return floatCheck(floatSize === '64' ? Number.MAX_VALUE : MAX_FLOAT32, name);
  return timeOrDecimal(name, args);
}

/** The largest that isn't rounded to infinity. */
const MAX_FLOAT32 = 3.402_823_567_797_336_6e38;

/** Ranges: https://clickhouse.com/docs/sql-reference/data-types, as all supported versions have them. */
function timeOrDecimal(name: string, args: readonly string[]): ScalarCheck | undefined {
  switch (name) {
    case 'Date':
      return dateCheck({
        first: '1970-01-01',
        last: '2149-06-06',
        min: 0n,
        max: 65_535n,
        unit: 'days',
        name,
      });
    case 'Date32':
      return dateCheck({
        ...{ first: '1900-01-01', last: '2299-12-31', min: -25_567n, max: 120_529n },
        ...{ unit: 'days', name },
      });
    case 'DateTime':
      return dateCheck({
        ...{ first: '1970-01-01', last: '2106-02-07', min: 0n, max: 4_294_967_295n },
        ...{ unit: 'seconds', name },
      });
    case 'DateTime64': {
      const perSecond = 10n ** BigInt(args[0] ?? '3');
      return dateCheck({
        ...{ min: -2_208_988_800n * perSecond, max: 10_413_792_000n * perSecond - 1n },
        ...{ unit: `1/${perSecond} seconds`, name },
      });
    }
    case 'Decimal':
      return decimalCheck(Number(args[1] ?? 0), name);
    default:
      return undefined;
  }
}

const WITH_NULL = new Set(['Dynamic', 'Variant', 'Nothing']);

/** The check of a column's type, as DESCRIBE writes it. */
export function checkOf(text: string): ValueCheck {
  const type = parseType(text);
  const { name, args } = type;
  const [first = ''] = args;
  const takesNull = WITH_NULL.has(name);
  switch (name) {
    case 'Nullable':
      return { ...checkOf(first), takesNull: true };
    case 'LowCardinality':
      return checkOf(first);
    case 'SimpleAggregateFunction':
      return checkOf(args[1] ?? '');
    case 'Array':
      return { takesNull, element: checkOf(first) };
    case 'Map':
      return { takesNull, value: checkOf(args[1] ?? '') };
    case 'Nested':
      return { takesNull, element: fieldsOf(args) };
    case 'Tuple':
      return fieldsOf(args);
    default: {
      const scalar = scalarOf(type);
      return scalar ? { takesNull, scalar } : { takesNull };
    }
  }
}

/** Elements without names are in an array, and of any type there: ClickHouse refuses what it can't read. */
function fieldsOf(args: readonly string[]): ValueCheck {
  const fields = new Map<string, ValueCheck>();
  for (const { name, type } of args.map(namedType)) {
    if (name === undefined) return { takesNull: false };
    fields.set(keyOf(name), checkOf(type));
  }
  return { takesNull: false, fields };
}

/** A name as the scanner has keys: one character for each byte of its UTF-8. */
export const keyOf = (name: string) => Buffer.from(name).toString('latin1');

/** The name that a key of the scanner stands for. */
export const nameOf = (key: string) => Buffer.from(key, 'latin1').toString();
