// An on_receipt source whose flow ends the process with each record that is sent into it.
import { newTally } from '#lib/delivery/ledger';
import { InboxRunner } from '#lib/inbox/inbox-runner';
import { openInbox } from '#lib/inbox/inbox';
import { Quota } from '#lib/quota/quota';

const [dataDir = '', what] = process.argv.slice(2);
const inbox = await openInbox({ dataDir, quotaBytes: 2 ** 20, now: Date.now });
const runner = new InboxRunner(
  { source: 'orders', window: 10, retries: 5, dedupeMs: 0 },
  {
    inbox,
    admit: () => ({ admitted: true, holds: new Map() }),
    room: new Quota(2 ** 20),
    deliver: async () => {
      process.kill(process.pid, 'SIGKILL');
      return new Promise(() => undefined);
    },
    tally: newTally(),
    random: Math.random,
    // Set aside: nothing is left to run.
    report: () => void inbox.close().then(() => process.exit(0)),
  },
);
runner.resume();
if (what === 'accept') {
  const record = { key: 'poison', digest: '00', message: { payload: 1 }, receivedAt: Date.now(), bytes: 1 };
  await runner.accept(record, new Map());
}
