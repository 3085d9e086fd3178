/** The thread that owns a queue's file. Started by sqlite-store.ts. */
import { workerData } from 'node:worker_threads';
import { openDatabaseFile, quarantine, type DatabaseFile, type Quarantine } from '../sqlite/database-file';
import type { Fault } from '../sqlite/faults';
import { serve, type FileOwner } from '../sqlite/worker-loop';
import { SqliteQueue } from './sqlite-queue';
import { QueueRecords } from './sqlite-records';
import { APPLICATION_ID, MIGRATIONS } from './sqlite-schema';
import type { QueueBatch, QueueHello, QueueReply, WorkerOptions } from './sqlite-wire';

/** A lost file's seqs are unknown; these are beyond any of them, since a queue takes in less than 1024 a millisecond. */
const SEQS_PER_MS = 1024;

/** More than the log, so that it can always be written back into the file. */
const RESERVE_BYTES = 8 * 2 ** 20;

function openFile(options: WorkerOptions, now: number): DatabaseFile {
  const file = openDatabaseFile({
    ...options,
    now,
    applicationId: APPLICATION_ID,
    migrations: MIGRATIONS,
    reserveBytes: RESERVE_BYTES,
    check: (db) => new QueueRecords(db, options).checkEnds(),
  });
  if (file.quarantined) skipSeqs(file, now * SEQS_PER_MS);
  return file;
}

function skipSeqs({ db }: DatabaseFile, least: number): void {
  db.prepare('UPDATE meta SET next = max(next, ?)').run(least);
}

function setAside({ file, bytes }: Quarantine): Fault {
  return {
    kind: 'corrupt',
    detail: `${bytes} bytes set aside as ${file}; the queue goes on with a new file`,
  };
}

function own(options: WorkerOptions): FileOwner<QueueBatch, QueueHello, QueueReply> {
  let file = openFile(options, options.now);
  let queue = new SqliteQueue(file, options);

  const replace = (now: number): Fault => {
    const { next } = queue;
    file.close();
    const aside = quarantine(options.file, now);
    file = openFile(options, now);
    skipSeqs(file, Math.max(next, now * SEQS_PER_MS));
    queue = new SqliteQueue(file, { ...options, leased: [] });
    return setAside(aside);
  };

  return {
    hello: { state: queue.state, quarantined: file.quarantined && setAside(file.quarantined) },
    run(batches) {
      const answers = queue.run(batches);
      if (!queue.corrupt) return answers;
      const quarantined = replace(batches[0]?.now ?? options.now);
      const { state } = queue;
      return answers.map(({ reply, transfer = [] }) => ({
        reply: { ...reply, state, quarantined },
        transfer,
      }));
    },
    idle: () => queue.idle(),
    close: () => file.close(),
  };
}

serve(() => own(workerData as WorkerOptions));
