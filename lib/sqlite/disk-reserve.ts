import { closeSync, openSync, statSync, truncateSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { freeBytes } from './disk-floor';

const STEP = Buffer.alloc(2 ** 20);
/** A small disk is for the records first. */
const SHARE = 1 / 4;

/**
 * Space held for the moment when the disk is full. Deleting needs some too (the log grows before the file shrinks), so
 * without it a store whose disk is full could not even make room by what it delivers.
 */
export class DiskReserve {
  #spent = false;

  constructor(
    private readonly file: string,
    /** Held where the disk has plenty; 0: none. */
    readonly bytes: number,
  ) {}

  /** Released, and not taken again yet: only what frees space may be written. */
  get spent(): boolean {
    return this.#spent;
  }

  /** Held now: less than `bytes` on a small disk. */
  get held(): number {
    return statSync(this.file, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Takes the space, or as much as a quarter of what is free, in steps of 1 MB. Never throws: it is a precaution. */
  keep(): void {
    const { held } = this;
    if (held >= this.bytes) return;
    const share = Math.floor(((freeBytes(dirname(this.file)) + held) * SHARE) / STEP.length) * STEP.length;
    const wanted = Math.min(this.bytes, share);
    if (wanted <= held) return;
    try {
      const descriptor = openSync(this.file, 'a');
      try {
        for (let at = held; at < wanted; at += STEP.length) writeSync(descriptor, STEP);
      } finally {
        closeSync(descriptor);
      }
      this.#spent = false;
    } catch {
      this.release();
    }
  }

  /** Gives the space to the disk; false when there was none to give. */
  release(): boolean {
    if (this.held === 0) return false;
    try {
      truncateSync(this.file);
      this.#spent = true;
      return true;
    } catch {
      return false;
    }
  }
}
