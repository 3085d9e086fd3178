import { MAX_DEPTH } from './depth';
import { RecordError } from './record-error';

/**
 * Throws RecordError where a value can't be a record: it holds NaN or an infinity, which JSON would turn into null, a
 * function, or more levels than a message can have.
 */
export function refuseUnstorable(value: unknown, depth = 0): void {
  switch (typeof value) {
    case 'number':
      if (Number.isFinite(value)) return;
      throw new RecordError(
        'ERR_SLUICE_TRANSFORM_NUMBER',
        `the result holds ${value}, as of a division by zero`,
      );
    case 'function':
    case 'symbol':
      throw new RecordError('ERR_SLUICE_TRANSFORM_FAILED', `the result holds a ${typeof value}`);
    case 'object':
      if (value === null || value instanceof Uint8Array) return;
      if (depth >= MAX_DEPTH) {
        throw new RecordError(
          'ERR_SLUICE_TRANSFORM_FAILED',
          `the result nests deeper than ${MAX_DEPTH} levels`,
        );
      }
      for (const inner of Object.values(value)) refuseUnstorable(inner, depth + 1);
  }
}
