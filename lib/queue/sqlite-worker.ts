/** The thread that owns a queue's file. Started by sqlite-store.ts. */
import { workerData } from 'node:worker_threads';
import { openDatabaseFile, type DatabaseFile } from '../sqlite/database-file';
import type { Fault } from '../sqlite/faults';
import { serve, type FileOwner } from '../sqlite/worker-loop';
import { SqliteQueue } from './sqlite-queue';
import { QueueRecords } from './sqlite-records';
import { salvage } from './sqlite-salvage';
import { APPLICATION_ID, MIGRATIONS } from './sqlite-schema';
import type { QueueBatch, QueueHello, QueueReply, WorkerOptions } from './sqlite-wire';

/** A lost file's seqs are unknown; these are beyond any of them, since a queue takes in less than 1024 a millisecond. */
const SEQS_PER_MS = 1024;

/** More than the log, so that it can always be written back into the file. */
const RESERVE_BYTES = 8 * 2 ** 20;

interface Opened {
  readonly file: DatabaseFile;
  /** What was found damaged and set aside. */
  readonly fault: Fault | undefined;
}

function openFile(options: WorkerOptions, now: number, { damaged = false, leastNext = 0 } = {}): Opened {
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
  const saved = salvage(quarantined.file, db, options.nativeBinding);
  const detail = `${quarantined.bytes} bytes set aside as ${quarantined.file}; ${saved} records saved from it into a new file`;
  return { file, fault: { kind: 'corrupt', detail } };
}

function own(options: WorkerOptions): FileOwner<QueueBatch, QueueHello, QueueReply> {
  const opened = openFile(options, options.now);
  let { file, fault } = opened;
  let queue = new SqliteQueue(file, options);

  /** Puts a new file in the place of the damaged one. Leases are void; what is saved is given out again. */
  const replace = (now: number): Fault | undefined => {
    file.close();
    const replacement = openFile(options, now, { damaged: true, leastNext: queue.next });
    file = replacement.file;
    queue = new SqliteQueue(file, { ...options, now, restarted: false });
    fault = replacement.fault;
    return fault;
  };

  return {
    get hello() {
      return { state: queue.state, quarantined: fault };
    },
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
    idle() {
      const more = queue.idle();
      if (!queue.corrupt) return more;
      replace(Date.now());
      return 'renewed';
    },
    close: () => queue.close(),
  };
}

serve(() => own(workerData as WorkerOptions));
