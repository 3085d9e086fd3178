/** What the worker does while nothing waits, a few milliseconds at a time. */
import type { DatabaseFile } from '../sqlite/database-file';
import { CheckBehind } from './sqlite-check-behind';

const VACUUM_PAGES = 1000;
/** On a full disk the log has little room to grow: less at a time, written back each time. */
const FEW_PAGES = 32;

export class Upkeep {
  #stale = false;
  #checkBehind: CheckBehind | undefined;

  constructor(private readonly file: DatabaseFile) {
    this.#checkBehind = file.checked ? undefined : new CheckBehind(file.db);
  }

  /** Something was written: there may be pages to give back. */
  written(): void {
    this.#stale = true;
  }

  /** Gives free pages back to the disk, then empties the log. True for more; a failure is tried again after the next write. */
  tidy(): boolean {
    if (!this.#stale) return false;
    try {
      if (this.#vacuum(VACUUM_PAGES)) return true;
      this.file.db.pragma('wal_checkpoint(TRUNCATE)');
      this.file.reserve.keep();
      this.#stale = false;
      return false;
    } catch {
      return this.#tidyOnFullDisk();
    }
  }

  /** Goes on with the check of a large file; true for more. Throws what it finds damaged. */
  check(): boolean {
    const check = this.#checkBehind;
    this.#checkBehind = undefined;
    if (!check?.step()) return false;
    this.#checkBehind = check;
    return true;
  }

  #tidyOnFullDisk(): boolean {
    try {
      this.file.reserve.release();
      this.file.db.pragma('wal_checkpoint(TRUNCATE)');
      const more = this.#vacuum(FEW_PAGES);
      this.file.db.pragma('wal_checkpoint(TRUNCATE)');
      return more;
    } catch {
      // The next write tells its producers why.
      return false;
    }
  }

  #vacuum(pages: number): boolean {
    const { db } = this.file;
    const free = Number(db.pragma('freelist_count', { simple: true }));
    if (free <= 64 || free <= Number(db.pragma('page_count', { simple: true })) / 4) return false;
    db.pragma(`incremental_vacuum(${pages})`);
    return true;
  }
}
