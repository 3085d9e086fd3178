/**
 * Numbers that a double can't hold as they were written. JSON.parse rounds them without a word: an id of 20 digits, an
 * amount of 18. They are kept as text instead, digit by digit, so that nothing wrong can be stored; a schema tells whether
 * text will do.
 */
const INTEGER = /^-?\d+$/;
const NUMBER = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
/** Any decimal number of so many digits comes out of a double as it went in (DBL_DIG). */
const ALWAYS_EXACT = 15;
const MAX_PRECISION = 100;

interface Decimal {
  /** Significant digits without zeros at either end. */
  readonly digits: string;
  /** The value is 0.`digits` × 10^`exponent`. */
  readonly exponent: number;
}

function decimalOf(literal: string): Decimal {
  const [, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(literal) ?? [];
  const all = whole + fraction;
  const digits = all.replace(/^0+/, '');
  const leadingZeros = all.length - digits.length;
  return {
    digits: digits.replace(/0+$/, ''),
    exponent: digits === '' ? 0 : whole.length - leadingZeros + Number(exponent),
  };
}

/** Whether text is a number as JSON writes it, but for zeros before it. */
export const isNumberText = (text: string) => NUMBER.test(text);

const isSame = (one: Decimal, other: Decimal) =>
  one.digits === other.digits && one.exponent === other.exponent;

/** Whether the double that JSON.parse makes of a JSON number, written out again, is the same number. */
export function isExact(literal: string): boolean {
  const value = Number(literal);
  if (!Number.isFinite(value)) return false;
  if (INTEGER.test(literal)) return Number.isSafeInteger(value);
  const written = decimalOf(literal);
  if (written.digits === '') return true;
  if (value === 0) return false;
  if (written.digits.length <= ALWAYS_EXACT && Math.abs(value) >= Number.MIN_VALUE * 2 ** 52) return true;
  // The shortest text of the double, as JavaScript and most others write it; else one of full length, as C does.
  if (isSame(decimalOf(String(value)), written)) return true;
  if (written.digits.length > MAX_PRECISION) return false;
  return isSame(decimalOf(value.toPrecision(written.digits.length)), written);
}

/** A whole number of any size: a number where it is one exactly, else its digits. */
export function exactInteger(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}
