// Delivers what a queue holds; the record `poison` ends the process. Writes `sent TEXT` and `dead TEXT CODE` lines.
import { writeSync } from 'node:fs';
import { Drain } from '#lib/queue/drain';
import { openSqliteStore } from '#lib/queue/sqlite-store';

const [file, ordering] = process.argv.slice(2);
const store = await openSqliteStore({ file });
const textOf = ({ record }) => Buffer.from(record).toString();

const drain = new Drain({
  store,
  policy: { maxInFlight: 64, ordering, maxAttempts: 0, maxUnknown: 5, retryInitialMs: 1, retryMaxMs: 10 },
  keyOf: (lease) => textOf(lease).slice(-1),
  readiness: () => 'ready',
  deliver: async (lease) => {
    const text = textOf(lease);
    writeSync(1, `sent ${text}\n`);
    await new Promise((resolve) => setTimeout(resolve, 5));
    if (text.startsWith('poison')) process.kill(process.pid, 'SIGKILL');
    return { kind: 'done' };
  },
  onSettled: (lease, settlement) => {
    if (settlement.outcome === 'dead') writeSync(1, `dead ${textOf(lease)} ${settlement.code}\n`);
  },
});
drain.resume();
while (store.counts().records > 0) await new Promise((resolve) => setTimeout(resolve, 5));
await drain.close(1000);
await store.close();
