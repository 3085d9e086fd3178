import { DeliveryError } from '../errors/errors';

const MESSAGES = {
  ERR_SLUICE_QUEUE_FULL: 'The queue is at its quota; nothing was stored, send the record again later',
  ERR_SLUICE_QUEUE_WRITER_FULL: 'Too many records wait for the disk; nothing was stored, send it again later',
  ERR_SLUICE_QUEUE_OPENING: 'The queue is being opened; send the record again',
} as const;

export type QueueRefusal = keyof typeof MESSAGES;

/** Why a push queue didn't take a record: always transient, and nothing of it is stored. */
export function refusedByQueue(code: QueueRefusal, retryAfterMs?: number): DeliveryError {
  return new DeliveryError(code, MESSAGES[code], {
    failure: 'transient',
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}
