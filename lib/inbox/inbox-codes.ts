import type { FaultCodes } from '../sqlite/faults';

export const INBOX_FAULT_CODES: FaultCodes = {
  disk_full: 'ERR_SLUICE_INBOX_DISK_FULL',
  disk_low: 'ERR_SLUICE_INBOX_DISK_LOW',
  locked: 'ERR_SLUICE_INBOX_LOCKED',
  newer: 'ERR_SLUICE_INBOX_NEWER',
  foreign: 'ERR_SLUICE_INBOX_FOREIGN',
  unwritable: 'ERR_SLUICE_INBOX_UNWRITABLE',
  native_module: 'ERR_SLUICE_NATIVE_MODULE',
  corrupt: 'ERR_SLUICE_INBOX_CORRUPT',
  io: 'ERR_SLUICE_INBOX_IO',
  worker: 'ERR_SLUICE_INBOX_WORKER',
  closed: 'ERR_SLUICE_INBOX_CLOSED',
  stalled: 'ERR_SLUICE_INBOX_IO',
};
