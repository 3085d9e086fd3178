import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { SqlEngine, type StartThread } from './engine';
import type { FromSqlWorker } from './protocol';

/** PostgreSQL in a worker thread. It doesn't keep the process alive. */
const startThread: StartThread = (heard, gone) => {
  const worker = new Worker(join(__dirname, 'sql-worker.js'), { execArgv: [] });
  worker.unref();
  let reason = new Error('its thread ended');
  worker.on('message', (message: FromSqlWorker) => heard(message));
  worker.on('error', (error) => (reason = error));
  worker.on('exit', () => gone(reason));
  return {
    post: (message) => worker.postMessage(message),
    end: () => void worker.terminate(),
  };
};

let engine: SqlEngine | undefined;

/** The one engine of this process; it starts with the first statement. */
export function sqlEngine(): SqlEngine {
  return (engine ??= new SqlEngine(startThread));
}
