/**
 * Opens a SQLite file that one worker thread owns, with the settings that measured best for group commits of blobs on
 * a full `fsync` each, and closes it. Runs inside the worker.
 */
import Database from 'better-sqlite3';
import { closeSync, mkdirSync, openSync, readSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DiskReserve } from './disk-reserve';
import { FileFault, faultOf } from './faults';
import { logDamage, uncoverLog } from './log-damage';

/** A file up to this size is checked from end to end when it is opened; that takes milliseconds. */
const FULL_CHECK_BYTES = 32 * 2 ** 20;
/** Nobody else writes, but a backup may read and hold up a checkpoint. */
const BUSY_MS = 10;
export const PAGE_BYTES = 16_384;
const LEAST_LOG_PAGES = 16;
const SIDE_FILES = ['', '-wal', '-shm'];

export interface DatabaseFileOptions {
  readonly file: string;
  /** 32-bit number that marks the file as ours. */
  readonly applicationId: number;
  /** SQL by version: `user_version` n means that the first n have run. */
  readonly migrations: readonly string[];
  /** Further checks of a file that isn't new; throws FileFault. */
  readonly check?: (db: Database.Database) => void;
  /** Unix ms, for the name of a damaged file. */
  readonly now: number;
  /** Known to be damaged: set it aside without looking. */
  readonly damaged?: boolean;
  /** How long to wait for another owner to let go, in ms. */
  readonly lockWaitMs?: number | undefined;
  /** Most pages the file may have; the disk is the limit without it. */
  readonly maxPages?: number | undefined;
  /** Disk space to hold for when the disk is full; none without it. */
  readonly reserveBytes?: number | undefined;
  /** Path of better-sqlite3's binary, where it isn't in its usual place. */
  readonly nativeBinding?: string | undefined;
}

interface Quarantine {
  readonly file: string;
  readonly bytes: number;
}

export interface DatabaseFile {
  readonly db: Database.Database;
  /** Where a damaged file of this name was put, if there was one. */
  readonly quarantined: Quarantine | undefined;
  /** Whether all of it was checked; a large file isn't, because that would take seconds. */
  readonly checked: boolean;
  /** Room for deletions on a full disk, in a file beside it. */
  readonly reserve: DiskReserve;
  close(): void;
}

/**
 * Opens or creates the file and brings it to the newest version. A damaged one is set aside and a new one made.
 * Throws FileFault or what SQLite throws: see `faultOf`.
 */
export function openDatabaseFile(options: DatabaseFileOptions): DatabaseFile {
  mkdirSync(dirname(options.file), { recursive: true });
  const lock = lockFile(options);
  try {
    const { db, quarantined } = openOrQuarantine(options);
    const checked = quarantined !== undefined || isSmall(options.file);
    const reserve = new DiskReserve(`${options.file}.reserve`, options.reserveBytes ?? 0);
    reserve.keep();
    if (reserve.held < reserve.bytes) boundLog(db, reserve.held / 2);
    return {
      db,
      quarantined,
      checked,
      reserve,
      close() {
        db.close();
        lock.close();
      },
    };
  } catch (error) {
    lock.close();
    throw error;
  }
}

/**
 * An exclusive lock on a file beside it: it ends with the process, however that ends, and lets others read the data.
 * Close what is returned to unlock. Throws what SQLite throws while another owner has it.
 */
export function lockFile({
  file,
  lockWaitMs = 1000,
  nativeBinding,
}: Pick<DatabaseFileOptions, 'file' | 'lockWaitMs' | 'nativeBinding'>): Database.Database {
  const lock = connect(`${file}.lock`, lockWaitMs, nativeBinding);
  try {
    // Nothing is ever written to it; without a journal it needs no disk space either.
    lock.exec('PRAGMA journal_mode = OFF; BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock.close();
    throw error;
  }
}

function connect(file: string, timeout: number, nativeBinding: string | undefined): Database.Database {
  return new Database(file, nativeBinding === undefined ? { timeout } : { timeout, nativeBinding });
}

function openOrQuarantine(options: DatabaseFileOptions): Pick<DatabaseFile, 'db' | 'quarantined'> {
  try {
    if (!options.damaged) return { db: openSound(options), quarantined: undefined };
  } catch (error) {
    if (faultOf(error).kind !== 'corrupt') throw error;
  }
  const quarantined = quarantine(options.file, options.now);
  return { db: openSound(options), quarantined };
}

function openSound(options: DatabaseFileOptions): Database.Database {
  if (mayBeOurs(options)) {
    const damage = logDamage(options.file, PAGE_BYTES);
    if (damage !== undefined) throw new FileFault('corrupt', damage);
  }
  const db = connect(options.file, BUSY_MS, options.nativeBinding);
  try {
    const fresh = checkOwner(db, options);
    if (fresh) db.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA auto_vacuum = INCREMENTAL`);
    db.exec(
      'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 1024;' +
        'PRAGMA journal_size_limit = 16777216; PRAGMA cache_size = -8192; PRAGMA foreign_keys = OFF',
    );
    if (options.maxPages !== undefined) db.pragma(`max_page_count = ${options.maxPages}`);
    if (!fresh && isSmall(options.file)) fullCheck(db);
    migrate(db, options);
    if (!fresh) options.check?.(db);
    emptyLog(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** By what lies in the file itself, before SQLite opens it and with that throws damaged parts of its log away. */
function mayBeOurs({ file, applicationId }: DatabaseFileOptions): boolean {
  const head = Buffer.alloc(100);
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) return true;
  const fd = openSync(file, 'r');
  try {
    readSync(fd, head, 0, head.length, 0);
  } finally {
    closeSync(fd);
  }
  return head.toString('latin1', 0, 15) !== 'SQLite format 3' || head.readUInt32BE(68) === applicationId;
}

/** Whether the file is new. Throws FileFault `newer` and `foreign`. */
function checkOwner(db: Database.Database, { applicationId, migrations }: DatabaseFileOptions): boolean {
  const version = Number(db.pragma('user_version', { simple: true }));
  const owner = Number(db.pragma('application_id', { simple: true }));
  const fresh = db.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined;
  if (fresh && version === 0 && owner === 0) return true;
  if (owner !== applicationId) throw new FileFault('foreign', `application_id ${owner}`);
  if (version > migrations.length) {
    throw new FileFault('newer', `version ${version}, this one knows ${migrations.length}`);
  }
  return false;
}

/** On a small disk: the log is written back before it takes the room that its file needs. */
function boundLog(db: Database.Database, bytes: number): void {
  const pages = Math.max(LEAST_LOG_PAGES, Math.floor(bytes / PAGE_BYTES));
  db.exec(`PRAGMA wal_autocheckpoint = ${pages}; PRAGMA journal_size_limit = ${pages * PAGE_BYTES}`);
}

/** A log that has no room to be written back stays until there is: the file can be used meanwhile. */
function emptyLog(db: Database.Database): void {
  try {
    db.pragma('wal_checkpoint(TRUNCATE)');
  } catch (error) {
    if (faultOf(error).kind !== 'disk_full') throw error;
  }
}

function isSmall(file: string): boolean {
  return statSync(file).size <= FULL_CHECK_BYTES;
}

function fullCheck(db: Database.Database): void {
  const verdict = db.pragma('quick_check(1)', { simple: true });
  if (verdict !== 'ok') throw new FileFault('corrupt', String(verdict));
}

function migrate(db: Database.Database, { applicationId, migrations }: DatabaseFileOptions): void {
  const version = Number(db.pragma('user_version', { simple: true }));
  for (const [index, sql] of migrations.entries()) {
    if (index < version) continue;
    db.exec(
      `BEGIN IMMEDIATE; ${sql}; PRAGMA user_version = ${index + 1}; PRAGMA application_id = ${applicationId}; COMMIT`,
    );
  }
}

/** Renames a damaged file, with its log, so that nothing in it is lost and a new one can take its place. */
function quarantine(file: string, now: number): Quarantine {
  const stamp = new Date(now).toISOString().replaceAll(/[:.]/g, '-');
  const aside = `${file}.corrupt-${stamp}`;
  let bytes = 0;
  for (const suffix of SIDE_FILES) {
    const size = statSync(file + suffix, { throwIfNoEntry: false })?.size;
    if (size === undefined) continue;
    if (suffix === '-shm') rmSync(file + suffix);
    else {
      renameSync(file + suffix, aside + suffix);
      bytes += size;
    }
  }
  uncoverLog(aside, PAGE_BYTES);
  return { file: aside, bytes };
}
