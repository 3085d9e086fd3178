import { MemoryStore } from '#lib/queue/memory-store';
import { describeQueueStore } from './queue-store.suite';

describeQueueStore({
  name: 'memory',
  persistent: false,
  make() {
    let now = 0;
    return Promise.resolve({
      open: ({ maxDead } = {}) => Promise.resolve(new MemoryStore(() => now, maxDead)),
      dispose: () => Promise.resolve(),
      setNow: (ms) => {
        now = ms;
      },
    });
  },
});
