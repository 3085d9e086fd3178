import { closeSync, openSync, statSync, statfsSync, truncateSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

const STEP = Buffer.alloc(2 ** 20);

/**
 * Space held for the moment when the disk is full. Deleting needs some too (the log grows before the file shrinks), so
 * without it a store whose disk is full could not even make room by what it delivers.
 */
export class DiskReserve {
  #spent = false;

  constructor(
    private readonly file: string,
    /** 0: none. */
    readonly bytes: number,
  ) {}

  /** Released, and not taken again yet: only what frees space may be written. */
  get spent(): boolean {
    return this.#spent;
  }

  /** Takes the space if it isn't taken and the disk has plenty. Never throws: it is a precaution. */
  keep(): void {
    if (this.#size === this.bytes) return;
    try {
      const { bavail, bsize } = statfsSync(dirname(this.file));
      if (bavail * bsize < 4 * this.bytes) return;
      const descriptor = openSync(this.file, 'w');
      for (let at = 0; at < this.bytes; at += STEP.length) writeSync(descriptor, STEP);
      closeSync(descriptor);
      this.#spent = false;
    } catch {
      this.release();
    }
  }

  /** Gives the space to the disk; false when there was none to give. */
  release(): boolean {
    if (this.#size === 0) return false;
    try {
      truncateSync(this.file);
      this.#spent = true;
      return true;
    } catch {
      return false;
    }
  }

  get #size(): number {
    return statSync(this.file, { throwIfNoEntry: false })?.size ?? 0;
  }
}
