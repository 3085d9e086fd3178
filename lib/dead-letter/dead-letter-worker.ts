/** Runs as a worker thread that owns `dead_letters.db`. */
import { workerData } from 'node:worker_threads';
import type Database from 'better-sqlite3';
import { openDatabaseFile } from '../sqlite/database-file';
import { faultOf } from '../sqlite/faults';
import { serve, type Answer, type FileOwner } from '../sqlite/worker-loop';
import { LetterFile } from './letter-file';
import { LetterReader } from './letter-reader';
import { salvage } from './salvage';
import { APPLICATION_ID, MIGRATIONS } from './schema';
import type { Batch, Hello, ReadBatch, Reply, WorkerOptions } from './wire';

const VACUUM_PAGES = 500;

function open(): FileOwner<Batch, Hello, Reply> {
  const options = workerData as WorkerOptions;
  const opened = openDatabaseFile({ ...options, applicationId: APPLICATION_ID, migrations: MIGRATIONS });
  const { db } = opened;
  const quarantined = opened.quarantined && {
    file: opened.quarantined.file,
    saved: saveWhatCanBeRead(opened.quarantined.file, db, options.nativeBinding),
  };
  const letters = new LetterFile(db);
  if (!options.restarted) letters.reopenReplaying();
  const reader = new LetterReader(db, letters.totals);

  function read(batch: ReadBatch): Answer<Reply> {
    try {
      return { reply: readNow(batch) };
    } catch (error) {
      return { reply: { kind: 'failed', fault: faultOf(error) } };
    }
  }

  function readNow(batch: ReadBatch): Reply {
    switch (batch.kind) {
      case 'get':
        return { kind: 'letter', letter: reader.get(batch.id) };
      case 'list':
        return { kind: 'letters', letters: reader.list(batch.filter, batch.limit) };
      case 'openIds':
        return {
          kind: 'ids',
          ids: reader.openIds(batch.filter, batch.afterId, batch.upToId, batch.limit),
        };
      case 'countOpen':
        return { kind: 'count', count: reader.countOpen(batch.filter) };
    }
  }

  const freePages = () => Number(db.pragma('freelist_count', { simple: true }));

  /** Upkeep may fail as a commit may, for instance on a full disk; it isn't worth the thread. */
  function idle(): boolean {
    try {
      const free = freePages();
      if (free * 4 <= Number(db.pragma('page_count', { simple: true }))) return false;
      db.pragma(`incremental_vacuum(${VACUUM_PAGES})`);
      return freePages() < free;
    } catch {
      return false;
    }
  }

  return {
    hello: { nextId: letters.nextId(), places: letters.totals.all(), halts: letters.halts(), quarantined },
    run(batches) {
      const commits = batches.filter((batch) => batch.kind === 'commit');
      const committed = commits.length > 0 ? letters.commit(commits) : [];
      let next = 0;
      return batches.map((batch) => {
        if (batch.kind !== 'commit') return read(batch);
        const reply = committed[next] as Reply;
        next += 1;
        return { reply };
      });
    },
    idle,
    close: () => opened.close(),
  };
}

/** A file in which nothing can be read at all mustn't keep the new one from opening. */
function saveWhatCanBeRead(damaged: string, db: Database.Database, binding: string | undefined): number {
  try {
    return salvage(damaged, db, binding);
  } catch {
    return 0;
  }
}

serve(open);
