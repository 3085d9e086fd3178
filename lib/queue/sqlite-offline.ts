/** A queue's file in the hands of its operator, while no process uses it. */
import Database from 'better-sqlite3';
import { lockFile, PAGE_BYTES } from '../sqlite/database-file';
import { FileFault, faultOf, storeError } from '../sqlite/faults';
import { logDamage } from '../sqlite/log-damage';
import { Chunk } from './sqlite-chunk';
import { CODES } from './sqlite-codes';
import { CountersRow, type Counters } from './sqlite-counters';
import { openQueueFile } from './sqlite-file';
import type { SalvageListener } from './sqlite-salvage';
import { APPLICATION_ID, MIGRATIONS } from './sqlite-schema';

export interface StoredRecord {
  readonly seq: number;
  readonly state: 'queued' | 'parked' | 'dead';
  /** Unix ms: of the append, or of the burial of a dead one. */
  readonly at: number;
  readonly attempts: number;
  /** Unix ms of the next attempt of a parked one. */
  readonly dueAt?: number;
  /** Why a dead one is. */
  readonly reason?: string;
  readonly code?: string;
  readonly record: Uint8Array;
}

export interface QueueFileReport {
  readonly records: number;
  readonly bytes: number;
  readonly parked: number;
  readonly dead: number;
  /** What is wrong with the file; none for a sound one. */
  readonly problems: readonly string[];
}

type Row = Omit<StoredRecord, 'state' | 'record'> & { readonly data: Buffer };
type ChunkRow = Parameters<typeof Chunk.read>[0];

/** Locks the file and reads it. Throws StoreError: ERR_SLUICE_QUEUE_LOCKED while a process uses it, or as opening does. */
export async function withQueueFile<Result>(
  file: string,
  read: (db: Database.Database) => Result | Promise<Result>,
): Promise<Result> {
  return telling(file, async () => {
    const lock = lockFile({ file, lockWaitMs: 0 });
    try {
      const db = new Database(file, { readonly: true, fileMustExist: true });
      try {
        return await read(db);
      } finally {
        db.close();
      }
    } finally {
      lock.close();
    }
  });
}

/** Looks at everything in the file and compares it with the counters. Changes nothing. */
export function checkQueueFile(file: string): Promise<QueueFileReport> {
  return withQueueFile(file, (db) => {
    const found = { records: 0, bytes: 0, parked: 0, dead: 0 };
    const problems: string[] = [];
    const attempt = (look: () => void) => {
      try {
        look();
      } catch (error) {
        const { kind, detail } = faultOf(error);
        if (kind !== 'corrupt') throw error;
        problems.push(detail);
      }
    };
    attempt(() => {
      // Before the first look at the database: with that SQLite passes over the damage.
      const damage = logDamage(file, PAGE_BYTES);
      if (damage !== undefined) problems.push(damage);
      checkOwner(db);
      const verdicts = db.pragma('quick_check(10)') as { quick_check: string }[];
      problems.push(...verdicts.map(({ quick_check }) => quick_check).filter((text) => text !== 'ok'));
    });
    attempt(() => {
      for (const { state, record } of storedRecords(db)) {
        if (state === 'dead') found.dead++;
        else {
          found.records++;
          found.bytes += record.byteLength;
        }
        if (state === 'parked') found.parked++;
      }
    });
    attempt(() => {
      if (problems.length === 0) problems.push(...compare(found, new CountersRow(db).read()));
    });
    return { ...found, problems };
  });
}

/** Sets the file aside and makes a new one of what can be read of it. Tells where the old one is and what was saved. */
export function repairQueueFile(file: string, now: number, onSaved: SalvageListener): Promise<string> {
  return telling(file, () => {
    const options = { file, maxDead: 50_000, maxKeys: 200_000, lockWaitMs: 0 };
    const repaired = openQueueFile(options, now, { damaged: true, onSaved });
    try {
      return repaired.fault?.detail ?? '';
    } finally {
      repaired.file.close();
    }
  });
}

/** Every record, by its place; the dead last. Throws what it finds damaged. */
export function* storedRecords(db: Database.Database): Generator<StoredRecord> {
  checkOwner(db);
  const chunks = db.prepare<[], ChunkRow>(
    'SELECT chunk.first, n, at, crc, data, bits FROM chunk LEFT JOIN settled ON settled.first = chunk.first ORDER BY chunk.first',
  );
  for (const row of chunks.iterate()) {
    const chunk = Chunk.read(row);
    for (let seq = chunk.first; seq < chunk.end; seq++) {
      if (chunk.isSettled(seq)) continue;
      yield { seq, state: 'queued', at: chunk.storedAt, attempts: 0, record: chunk.recordIn(row.data, seq) };
    }
  }
  const rest = {
    parked: 'SELECT seq, at, attempts, due_at AS dueAt, data FROM parked ORDER BY seq',
    dead: 'SELECT seq, at, attempts, reason, code, data FROM dead ORDER BY id',
  } as const;
  for (const state of ['parked', 'dead'] as const) {
    for (const { data, ...row } of db.prepare<[], Row>(rest[state]).iterate()) {
      yield { ...row, state, record: data };
    }
  }
}

function checkOwner(db: Database.Database): void {
  const owner = Number(db.pragma('application_id', { simple: true }));
  const version = Number(db.pragma('user_version', { simple: true }));
  if (owner !== APPLICATION_ID) throw new FileFault('foreign', `application_id ${owner}`);
  if (version > MIGRATIONS.length) throw new FileFault('newer', `version ${version}`);
}

function compare(found: Omit<QueueFileReport, 'problems'>, counters: Counters): string[] {
  return (['records', 'bytes', 'parked', 'dead'] as const)
    .filter((name) => found[name] !== counters[name])
    .map((name) => `the counter of ${name} says ${counters[name]}, there are ${found[name]}`);
}

async function telling<Result>(file: string, work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw storeError(faultOf(error), file, CODES);
  }
}
