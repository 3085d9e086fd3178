import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { FileFault } from './faults';

const MB = 2 ** 20;

/** Throws FileFault `disk_low` when the file's disk has less than `minFreeBytes` left for us. 0: no floor. */
export function checkDiskFloor(file: string, minFreeBytes: number): void {
  if (minFreeBytes <= 0) return;
  const free = freeBytes(dirname(file));
  if (free >= minFreeBytes) return;
  const mb = (bytes: number) => Math.floor(bytes / MB);
  throw new FileFault('disk_low', `${mb(free)} MB are free, minFreeDiskMb is ${mb(minFreeBytes)}`);
}

/** Bytes that the disk of a folder has left for us. One that can't be asked has room: if not, writing will tell. */
export function freeBytes(dir: string): number {
  try {
    const { bavail, bsize } = statfsSync(dir);
    return bavail * bsize;
  } catch {
    return Infinity;
  }
}
