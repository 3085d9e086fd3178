import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { freeBytes } from './disk-floor';
import { FileFault } from './faults';

/** For the few pages that a deletion writes. */
const SPARE_BYTES = 2 ** 20;

/**
 * Throws FileFault `disk_full` when a log that has grown by `adding` bytes couldn't be written back into its file, not
 * even in what `heldBytes` of reserve give: then nothing could be deleted any more.
 */
export function checkLogRoom(file: string, heldBytes: number, adding: number): void {
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  // What is added lies in the log first and then in the file, too.
  const needed = log + 2 * adding + SPARE_BYTES;
  const room = freeBytes(dirname(file)) + heldBytes;
  if (room < needed) throw new FileFault('disk_full', 'held back to settle what is stored');
}
