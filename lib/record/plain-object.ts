import { RecordError } from './record-error';

/**
 * The key that a map of a binary format becomes in an object: text as it is, a whole number in digits. Throws RecordError
 * for other kinds, for one that the object has already, and for `__proto__`: each would lose a value.
 */
export function newKey(object: object, key: unknown): string {
  const isKey = typeof key === 'string' || (typeof key === 'number' && Number.isInteger(key));
  if (!isKey)
    throw new RecordError('ERR_SLUICE_DECODE_KEY', 'a key of a map is neither text nor a whole number');
  const text = String(key);
  if (text === '__proto__')
    throw new RecordError('ERR_SLUICE_DECODE_KEY', 'the key "__proto__" is not taken');
  if (Object.hasOwn(object, text)) {
    const shown = JSON.stringify(text.slice(0, 64));
    throw new RecordError('ERR_SLUICE_DECODE_KEY', `the key ${shown} is there twice in one map`);
  }
  return text;
}

/** A float of a binary format. NaN and the infinities have no JSON form: they would be stored as null. */
export function finite(value: number): number {
  if (Number.isFinite(value)) return value;
  throw new RecordError(
    'ERR_SLUICE_DECODE_NUMBER',
    `the payload holds ${value}, which no destination can store`,
  );
}
