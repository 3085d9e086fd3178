import type { FaultCodes } from '../sqlite/faults';

/** The queue's own codes for what can happen to its file. */
export const CODES: FaultCodes = {
  disk_full: 'ERR_SLUICE_QUEUE_DISK_FULL',
  disk_low: 'ERR_SLUICE_QUEUE_DISK_LOW',
  locked: 'ERR_SLUICE_QUEUE_LOCKED',
  newer: 'ERR_SLUICE_QUEUE_NEWER',
  foreign: 'ERR_SLUICE_QUEUE_FOREIGN',
  unwritable: 'ERR_SLUICE_QUEUE_UNWRITABLE',
  native_module: 'ERR_SLUICE_NATIVE_MODULE',
  corrupt: 'ERR_SLUICE_QUEUE_CORRUPT',
  io: 'ERR_SLUICE_QUEUE_IO',
  worker: 'ERR_SLUICE_QUEUE_WORKER',
  closed: 'ERR_SLUICE_QUEUE_CLOSED',
  stalled: 'ERR_SLUICE_QUEUE_STALLED',
};
