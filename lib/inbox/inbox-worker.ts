/** Runs as a worker thread that owns `inbox.db`. */
import { workerData } from 'node:worker_threads';
import type Database from 'better-sqlite3';
import { openDatabaseFile } from '../sqlite/database-file';
import { checkDiskFloor } from '../sqlite/disk-floor';
import { faultOf } from '../sqlite/faults';
import { serve, type Answer, type FileOwner } from '../sqlite/worker-loop';
import type { CommitBatch, InboxBatch, InboxHello, InboxReply, InboxWorkerData } from './batch';
import { InboxFile } from './inbox-file';
import { salvage } from './salvage';
import { APPLICATION_ID, MIGRATIONS } from './schema';

const SWEEP_ROWS = 5000;
const VACUUM_PAGES = 500;

function open(): FileOwner<InboxBatch, InboxHello, InboxReply> {
  const data = workerData as InboxWorkerData;
  const opened = openDatabaseFile({ ...data, applicationId: APPLICATION_ID, migrations: MIGRATIONS });
  const { db } = opened;
  const quarantined = opened.quarantined && {
    file: opened.quarantined.file,
    saved: saveWhatCanBeRead(opened.quarantined.file, db, data.nativeBinding),
  };
  const inbox = new InboxFile(db, () => checkDiskFloor(data.file, data.minFreeBytes ?? 0));

  function read(batch: Exclude<InboxBatch, CommitBatch>): Answer<InboxReply> {
    try {
      switch (batch.kind) {
        case 'pending':
          return { reply: { kind: 'rows', rows: inbox.pending(batch.source, batch.limit, batch.running) } };
        case 'parked':
          return { reply: { kind: 'parkedRows', rows: inbox.parked(batch.limit, batch.afterId) } };
        case 'settled': {
          const page = inbox.settled.page(batch.beforeId, batch.fromMinute);
          return { reply: { kind: 'settledPage', ...page }, transfer: [page.entries.buffer] };
        }
      }
    } catch (error) {
      return { reply: { kind: 'failed', fault: faultOf(error) } };
    }
  }

  const freePages = () => Number(db.pragma('freelist_count', { simple: true }));

  /** Upkeep may fail as a commit may, for instance on a full disk; it isn't worth the thread. */
  function idle(): boolean {
    try {
      if (inbox.settled.sweep(SWEEP_ROWS)) return true;
      const free = freePages();
      if (free * 4 <= Number(db.pragma('page_count', { simple: true }))) return false;
      db.pragma(`incremental_vacuum(${VACUUM_PAGES})`);
      return freePages() < free;
    } catch {
      return false;
    }
  }

  return {
    hello: {
      nextId: inbox.nextId(),
      counts: inbox.totals.all(),
      quarantined,
    },
    run(batches) {
      const commits = batches.filter((batch) => batch.kind === 'commit');
      const committed = commits.length > 0 ? inbox.commit(commits) : [];
      let next = 0;
      return batches.map((batch) => {
        if (batch.kind !== 'commit') return read(batch);
        const reply = committed[next] as InboxReply;
        next += 1;
        return { reply };
      });
    },
    idle,
    close: () => opened.close(),
  };
}

/** A file in which nothing can be read at all mustn't keep the new one from opening. */
function saveWhatCanBeRead(
  damaged: string,
  db: Database.Database,
  nativeBinding: string | undefined,
): number {
  try {
    return salvage(damaged, db, nativeBinding);
  } catch {
    return 0;
  }
}

serve(open);
