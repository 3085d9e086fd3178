/** Opens a queue's file, and puts a new one with what can be saved in the place of a damaged one. */
import { openDatabaseFile, type DatabaseFile } from '../sqlite/database-file';
import type { Fault } from '../sqlite/faults';
import { QueueRecords } from './sqlite-records';
import { salvage, type SalvageListener } from './sqlite-salvage';
import { APPLICATION_ID, MIGRATIONS } from './sqlite-schema';
import type { WorkerOptions } from './sqlite-wire';

/** A lost file's seqs are unknown; these are beyond any of them, since a queue takes in less than 1024 a millisecond. */
const SEQS_PER_MS = 1024;

/** More than the log, so that it can always be written back into the file. */
const RESERVE_BYTES = 20 * 2 ** 20;

export interface QueueFile {
  readonly file: DatabaseFile;
  /** What was found damaged and set aside. */
  readonly fault: Fault | undefined;
}

export type QueueFileOptions = Pick<WorkerOptions, 'file' | 'maxDead' | 'maxKeys'> &
  Partial<Pick<WorkerOptions, 'lockWaitMs' | 'maxPages' | 'nativeBinding'>>;

/** `damaged`: it is known to be; `leastNext`: no new record gets a smaller seq. Throws as `openDatabaseFile`. */
export function openQueueFile(
  options: QueueFileOptions,
  now: number,
  {
    damaged = false,
    leastNext = 0,
    onSaved,
  }: { readonly damaged?: boolean; readonly leastNext?: number; readonly onSaved?: SalvageListener } = {},
): QueueFile {
  const file = openDatabaseFile({
    ...options,
    now,
    damaged,
    applicationId: APPLICATION_ID,
    migrations: MIGRATIONS,
    reserveBytes: RESERVE_BYTES,
    check: (db) => new QueueRecords(db, options).checkEnds(),
  });
  if (!file.quarantined) return { file, fault: undefined };
  const { db, quarantined } = file;
  db.prepare('UPDATE meta SET next = ?').run(Math.max(leastNext, now * SEQS_PER_MS));
  const saved = salvage(quarantined.file, db, options.nativeBinding, onSaved);
  const detail = `${quarantined.bytes} bytes set aside as ${quarantined.file}; ${saved} records saved from it into a new file`;
  return { file, fault: { kind: 'corrupt', detail } };
}
