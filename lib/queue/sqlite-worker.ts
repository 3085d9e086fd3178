/** The thread that owns a queue's file. Started by sqlite-store.ts. */
import { workerData } from 'node:worker_threads';
import type { Fault } from '../sqlite/faults';
import { serve, type FileOwner } from '../sqlite/worker-loop';
import { openQueueFile } from './sqlite-file';
import { SqliteQueue } from './sqlite-queue';
import type { QueueBatch, QueueHello, QueueReply, WorkerOptions } from './sqlite-wire';

function own(options: WorkerOptions): FileOwner<QueueBatch, QueueHello, QueueReply> {
  const opened = openQueueFile(options, options.now);
  let { file, fault } = opened;
  let queue = new SqliteQueue(file, options);

  /** Puts a new file in the place of the damaged one. Leases are void; what is saved is given out again. */
  const replace = (now: number): Fault | undefined => {
    file.close();
    const replacement = openQueueFile(options, now, { damaged: true, leastNext: queue.next });
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
