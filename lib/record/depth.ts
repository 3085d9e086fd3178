import { RecordError } from './record-error';

/** Levels that a record may nest: deep enough for any document, far from where cloning a message overflows the stack. */
export const MAX_DEPTH = 512;

export function tooDeep(): RecordError {
  return new RecordError(
    'ERR_SLUICE_DECODE_DEPTH',
    `the payload's nesting depth is over ${MAX_DEPTH} levels`,
  );
}
