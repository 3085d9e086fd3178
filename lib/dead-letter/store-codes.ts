import type { FaultCodes } from '../sqlite/faults';

export const DLQ_FAULT_CODES: FaultCodes = {
  disk_full: 'ERR_SLUICE_DLQ_DISK_FULL',
  disk_low: 'ERR_SLUICE_DLQ_DISK_FULL',
  locked: 'ERR_SLUICE_DLQ_LOCKED',
  newer: 'ERR_SLUICE_DLQ_NEWER',
  foreign: 'ERR_SLUICE_DLQ_FOREIGN',
  unwritable: 'ERR_SLUICE_DLQ_UNWRITABLE',
  native_module: 'ERR_SLUICE_NATIVE_MODULE',
  corrupt: 'ERR_SLUICE_DLQ_CORRUPT',
  io: 'ERR_SLUICE_DLQ_IO',
  worker: 'ERR_SLUICE_DLQ_WORKER',
  closed: 'ERR_SLUICE_DLQ_CLOSED',
  stalled: 'ERR_SLUICE_DLQ_STALLED',
};
