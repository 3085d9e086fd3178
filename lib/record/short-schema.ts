/**
 * The short form of a schema: `{"temp": "float", "id": "bigint", "note": "string?"}`. A type with `?` may be null or
 * missing, fields that aren't named may hold anything. Objects nest, an array's one element is the type of all of its:
 * `{"pos": {"lat": "float"}, "tags": ["string"]}`.
 */
import { isExact, isNumberText } from './exact-numbers';
import { mismatch, type Mismatch } from './mismatch';

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;
const DIGITS = /^-?\d{1,19}$/;
const DECIMAL = /^-?\d+(?:\.\d+)?$/;
const ISO_TIME = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/i;

const isInt64 = (value: bigint) => value >= INT64_MIN && value <= INT64_MAX;

/** Digits that no number holds are how a decoder keeps such an id; digits of a smaller one are text that was meant as text. */
const isLargeInteger = (value: unknown) =>
  typeof value === 'string' && DIGITS.test(value) && !isExact(value) && isInt64(BigInt(value));

function isBigint(value: unknown): boolean {
  if (typeof value === 'bigint') return isInt64(value);
  return Number.isSafeInteger(value) || isLargeInteger(value);
}

function isDatetime(value: unknown): boolean {
  if (value instanceof Date) return !Number.isNaN(value.getTime());
  return typeof value === 'string' && ISO_TIME.test(value) && !Number.isNaN(Date.parse(value));
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);

function numberFrom(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  const text = value.trim();
  return isNumberText(text) && isExact(text) ? Number(text) : value;
}

function booleanFrom(value: unknown): unknown {
  if (value === 'true') return true;
  return value === 'false' ? false : value;
}

const textFrom = (value: unknown) =>
  typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint'
    ? String(value)
    : value;

interface Type {
  readonly test: (value: unknown) => boolean;
  /** What the value means in this type, where that is beyond doubt; the value itself elsewhere. */
  readonly coerce?: (value: unknown) => unknown;
}

const bigint: Type = { test: isBigint, coerce: numberFrom };
const integer: Type = { test: Number.isSafeInteger, coerce: numberFrom };
const float: Type = { test: Number.isFinite, coerce: numberFrom };
const decimal: Type = {
  test: (value) => Number.isFinite(value) || (typeof value === 'string' && DECIMAL.test(value)),
};
const string: Type = { test: (value) => typeof value === 'string', coerce: textFrom };
const boolean: Type = { test: (value) => typeof value === 'boolean', coerce: booleanFrom };
const datetime: Type = { test: isDatetime };
const bytes: Type = { test: (value) => value instanceof Uint8Array };
const array: Type = { test: Array.isArray };
const object: Type = { test: isObject };
const any: Type = { test: (value) => value !== undefined && value !== null };

const TYPES: ReadonlyMap<string, Type> = new Map(
  Object.entries({
    ...{ bigint, int: integer, integer, float, double: float, number: float, decimal, numeric: decimal },
    ...{ string, text: string, boolean, bool: boolean, datetime, timestamp: datetime },
    ...{ bytes, bytea: bytes, array, object, struct: object, any },
  }),
);

/** Reports what is wrong with `holder[key]`, and coerces it there. `report` tells whether to go on. */
type Check = (
  holder: Record<string | number, unknown>,
  key: string | number,
  path: readonly (string | number)[],
  report: (found: Mismatch) => boolean,
) => boolean;

function typeCheck(written: string, isCoercing: boolean): Check | undefined {
  const isOptional = written.endsWith('?');
  const name = isOptional ? written.slice(0, -1) : written;
  const type = TYPES.get(name);
  if (!type) return undefined;
  const { test, coerce } = type;
  return (holder, key, path, report) => {
    const value = Object.hasOwn(holder, key) ? holder[key] : undefined;
    if (isOptional ? value === null || value === undefined || test(value) : test(value)) return true;
    if (isCoercing && coerce) {
      const coerced = coerce(value);
      if (test(coerced)) {
        holder[key] = coerced;
        return true;
      }
    }
    return report(mismatch([...path, key], `expected type '${name}'`, value));
  };
}

function objectCheck(checks: readonly (readonly [string, Check])[]): Check {
  return (holder, key, path, report) => {
    const value = holder[key];
    const here = [...path, key];
    if (!isObject(value)) return report(mismatch(here, "expected type 'object'", value));
    return checks.every(([name, check]) => check(value, name, here, report));
  };
}

function arrayCheck(check: Check): Check {
  return (holder, key, path, report) => {
    const value = holder[key];
    const here = [...path, key];
    if (!Array.isArray(value)) return report(mismatch(here, "expected type 'array'", value));
    const items = value as unknown as Record<number, unknown>;
    for (let index = 0; index < value.length; index += 1) {
      if (!check(items, index, here, report)) return false;
    }
    return true;
  };
}

/** Undefined where something in it is no type: then it isn't the short form. */
function checkOf(schema: unknown, isCoercing: boolean): Check | undefined {
  if (typeof schema === 'string') return typeCheck(schema, isCoercing);
  if (Array.isArray(schema)) {
    const [only] = schema as readonly unknown[];
    const check = schema.length === 1 ? checkOf(only, isCoercing) : undefined;
    return check && arrayCheck(check);
  }
  if (!isObject(schema)) return undefined;
  const checks: [string, Check][] = [];
  for (const [name, inner] of Object.entries(schema)) {
    const check = checkOf(inner, isCoercing);
    if (!check) return undefined;
    checks.push([name, check]);
  }
  return checks.length === 0 ? undefined : objectCheck(checks);
}

/** Reports each mismatch of a record until `report` says no; coerces the record in place if it was compiled so. */
export type ShortSchema = (record: unknown, report: (found: Mismatch) => boolean) => void;

/** Undefined for what isn't the short form. */
export function compileShortSchema(schema: unknown, isCoercing: boolean): ShortSchema | undefined {
  if (!isObject(schema)) return undefined;
  const fields = Object.entries(schema).map(([name, inner]) => [name, checkOf(inner, isCoercing)] as const);
  const checks: [string, Check][] = [];
  for (const [name, check] of fields) {
    if (!check) return undefined;
    checks.push([name, check]);
  }
  if (checks.length === 0) return undefined;
  return (record, report) => {
    if (!isObject(record)) {
      report(mismatch([], "expected type 'object'", record));
      return;
    }
    for (const [name, check] of checks) if (!check(record, name, [], report)) return;
  };
}
