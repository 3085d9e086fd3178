import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '#lib/queue/sqlite-store';
import { describeQueueStore } from './queue-store.suite';

describeQueueStore({
  name: 'SQLite',
  persistent: true,
  async make() {
    const dir = await mkdtemp(join(tmpdir(), 'sluice-queue-'));
    let now = 0;
    return {
      open: (options = {}) =>
        openSqliteStore({ file: join(dir, 'push_queue.db'), now: () => now, ...options }),
      dispose: () => rm(dir, { recursive: true, force: true }),
      setNow: (ms) => (now = ms),
    };
  },
});
