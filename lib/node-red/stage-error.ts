import { StageError } from '../errors/errors';
import type { Stage } from '../errors/stages';
import { rawOf } from '../record/raw-bytes';
import type { RecordError } from '../record/record-error';
import type { Message } from './types';

/** The failure of a message at a stage, with its record and the bytes it came as, for the dead letters. */
export function stageError(error: RecordError, stage: Stage, msg: Message): StageError {
  const { payload } = msg;
  const isDecoded = stage !== 'CodecDecode';
  // What can't be decoded is the bytes in question, also where they were unpacked from others before.
  const raw = !isDecoded && payload instanceof Uint8Array ? payload : rawOf(msg);
  return new StageError(error.code, error.message, {
    stage,
    cause: error.cause,
    ...(isDecoded ? { tuple: payload } : {}),
    ...(raw === undefined ? {} : { raw }),
  });
}
