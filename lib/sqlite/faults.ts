/**
 * What can go wrong with a SQLite file that a worker thread owns, in a form that crosses threads. Each room that keeps
 * such a file gives every kind a code of its own.
 */
import type { ErrorCode } from '../errors/codes';
import { StoreError } from '../errors/errors';

const NEXT_STEP = {
  disk_full: 'has no room left: free space on its disk; nothing was acknowledged, and it goes on by itself',
  disk_low:
    'takes no more records, because its disk is nearly full: free space on it; nothing was acknowledged, and it goes on by itself',
  locked: 'is in use by another process: stop that one, or give this one a directory or name of its own',
  newer: 'was written by a newer version: install that version again, or move the file away',
  foreign: 'is a database of another program: choose another name or directory',
  unwritable:
    'cannot be opened for writing: check that its directory exists and belongs to the user who runs this',
  native_module:
    'needs better-sqlite3, which does not load in this Node.js: run `npm rebuild better-sqlite3` where this package is installed, then restart',
  corrupt: 'is damaged',
  io: 'could not be read or written: check its disk; nothing was acknowledged',
  worker: 'lost its worker thread, which is started again; nothing in flight was acknowledged',
  closed: 'is closed',
  stalled: 'does not keep up: its disk is slow or stuck; nothing was acknowledged',
} as const;

export type FaultKind = keyof typeof NEXT_STEP;

export interface Fault {
  readonly kind: FaultKind;
  /** What the database or system said; never a payload. */
  readonly detail: string;
}

export type FaultCodes = Readonly<Record<FaultKind, ErrorCode>>;

/** A condition that we find, where SQLite itself sees nothing wrong. */
export class FileFault extends Error {
  constructor(
    readonly kind: FaultKind,
    detail: string,
  ) {
    super(detail);
  }
}

const BY_CODE: readonly (readonly [RegExp, FaultKind])[] = [
  [/^(SQLITE_FULL|ENOSPC|EDQUOT)$/, 'disk_full'],
  [/^SQLITE_(BUSY|LOCKED)/, 'locked'],
  [/^SQLITE_(CORRUPT|NOTADB)/, 'corrupt'],
  [/^SQLITE_(CANTOPEN|READONLY|PERM|AUTH)/, 'unwritable'],
  [/^(EACCES|EPERM|EROFS|ENOTDIR|ENOENT|EEXIST|EISDIR)$/, 'unwritable'],
  [/^(ERR_DLOPEN_FAILED|MODULE_NOT_FOUND)$/, 'native_module'],
  [/^(SQLITE_|E[A-Z]+$)/, 'io'],
];

export function faultOf(error: unknown): Fault {
  if (error instanceof FileFault) return { kind: error.kind, detail: error.message };
  if (!(error instanceof Error)) return { kind: 'worker', detail: String(error) };
  const code = 'code' in error ? String(error.code) : '';
  const detail = code === '' ? error.message : `${code}: ${error.message}`;
  if (error.message.startsWith('Could not locate the bindings file'))
    return { kind: 'native_module', detail };
  return { kind: BY_CODE.find(([pattern]) => pattern.test(code))?.[1] ?? 'worker', detail };
}

/** The error that callers see: the room's code, and what the operator should do. */
export function storeError({ kind, detail }: Fault, file: string, codes: FaultCodes): StoreError {
  const said = detail === '' ? '' : ` (${detail})`;
  return new StoreError(codes[kind], `${file} ${NEXT_STEP[kind]}${said}`);
}
