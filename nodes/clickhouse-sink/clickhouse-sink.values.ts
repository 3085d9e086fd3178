/**
 * Values that ClickHouse would store as others, without a word: numbers out of range wrap around, dates are moved to the
 * nearest one there is, decimals are cut off. What it refuses by itself is left to it.
 */

/**
 * The problem with a number, or with the inside of a text, that lies in `bytes` from `start` to before `end`; undefined
 * where there is none.
 */
export type ScalarCheck = (bytes: Buffer, start: number, end: number, isText: boolean) => string | undefined;

const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const DASH_AT = 4;
/** So many digits are exact as a double. */
const EXACT_DIGITS = 15;

/** Value of the digits from `start` to before `end`, at most 15 of them; NaN where there is anything else. */
function shortInteger(bytes: Buffer, start: number, end: number): number {
  let value = 0;
  for (let at = start; at < end; at += 1) {
    const digit = bytes[at] as number;
    if (digit < ZERO || digit > NINE) return NaN;
    value = value * 10 + digit - ZERO;
  }
  return value;
}

/** For an integer column: what isn't a whole number is refused by the server itself. */
export function integerCheck(min: bigint, max: bigint, type: string): ScalarCheck {
  const outside = `the number is outside of ${type} (${min} to ${max}): ClickHouse would store another one`;
  const empty = `an empty text is no ${type}: ClickHouse would store 0`;
  const least = Number(min);
  const most = Number(max);
  return (bytes, start, end, isText) => {
    if (isText && start === end) return empty;
    const isNegative = bytes[start] === MINUS;
    const first = isNegative ? start + 1 : start;
    if (end - first <= EXACT_DIGITS) {
      const value = shortInteger(bytes, first, end);
      return (isNegative ? -value < least : value > most) ? outside : undefined;
    }
    const digits = bytes.toString('latin1', first, end);
    if (!/^\d+$/.test(digits)) return undefined;
    const value = isNegative ? -BigInt(digits) : BigInt(digits);
    return value < min || value > max ? outside : undefined;
  };
}

export function floatCheck(most: number, type: string): ScalarCheck {
  const outside = `the number is outside of ${type}: ClickHouse would store infinity`;
  const empty = `an empty text is no ${type}: ClickHouse would store 0`;
  return (bytes, start, end, isText) => {
    if (isText && start === end) return empty;
    // Short ones without an exponent are in any range.
    if (end - start <= 30 && !hasExponent(bytes, start, end)) return undefined;
    return Math.abs(Number(bytes.toString('latin1', start, end))) > most ? outside : undefined;
  };
}

function hasExponent(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (((bytes[at] as number) | 0x20) === 0x65) return true;
  return false;
}

/** `scale`: digits after the point that the column keeps. */
export function decimalCheck(scale: number, type: string): ScalarCheck {
  const cut = `the number has more than the ${scale} decimals of the column: ClickHouse would cut them off`;
  const empty = `an empty text is no ${type}: ClickHouse would store 0`;
  return (bytes, start, end, isText) => {
    if (isText && start === end) return empty;
    if (!hasExponent(bytes, start, end)) {
      const point = bytes.indexOf(POINT, start);
      if (point < 0 || end - point - 1 <= scale) return undefined;
    }
    return decimalsOf(bytes.toString('latin1', start, end)) > scale ? cut : undefined;
  };
}

/** Decimals of a number as written, without zeros at the end: 2 of `12.340`, 3 of `1.2e-2`. */
function decimalsOf(text: string): number {
  const [, fraction = '', exponent = '0'] = /^[+-]?\d*(?:\.(\d*))?(?:e([+-]?\d+))?$/i.exec(text) ?? [];
  return fraction.replace(/0+$/, '').length - Number(exponent);
}

interface DateRange {
  /** Dates as text; without them any date that exists is taken. */
  readonly first?: string;
  readonly last?: string;
  /** Of dates given as a number. */
  readonly min: bigint;
  readonly max: bigint;
  readonly unit: string;
  readonly name: string;
}

/** Dates begin with `YYYY-MM-DD`, with or without a time; other forms are left to the server. */
export function dateCheck({
  first = '0000',
  last = '9999-12-31',
  min,
  max,
  unit,
  name,
}: DateRange): ScalarCheck {
  const range = `${name}, which holds ${min} to ${max} ${unit}: ClickHouse would store another time`;
  const number = integerCheck(min, max, name);
  return (bytes, start, end, isText) => {
    if (!isText)
      return number(bytes, start, end, false) === undefined ? undefined : `the number is outside of ${range}`;
    if (start === end) return `an empty text is no ${name}: ClickHouse would store 1970-01-01`;
    if (bytes[start + DASH_AT] !== MINUS) return undefined;
    const text = bytes.toString('latin1', start, Math.min(end, start + 10));
    if (!/^\d{4}-\d\d-\d\d$/.test(text)) return undefined;
    if (!isDate(text)) return `the date does not exist: ClickHouse would store another ${name}`;
    return text < first || text > last ? `the date is outside of ${name} (${first} to ${last})` : undefined;
  };
}

function isDate(text: string): boolean {
  const [year = 0, month = 0, day = 0] = text.split('-').map(Number);
  return month >= 1 && month <= 12 && day >= 1 && day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
}
