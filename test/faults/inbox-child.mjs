// Accepts records as fast as it can and writes down each accepted and finished one, until it is killed.
import { openSync, writeSync } from 'node:fs';
import { openInbox } from '#lib/inbox/inbox';

const [dataDir = '', prefix = '', journal = ''] = process.argv.slice(2);
const said = openSync(journal, 'a');
const inbox = await openInbox({ dataDir, quotaBytes: 64 * 2 ** 20, now: Date.now });
const record = Buffer.alloc(1024, prefix);
let count = 0;

async function produce() {
  for (;;) {
    const turn = count++;
    const key = `${prefix}${turn}`;
    const id = await inbox.accept({ source: 'orders', key, record, started: true });
    writeSync(said, `accepted ${key}\n`);
    if (turn % 3 > 0) continue;
    // Said before it is done: after a kill in between, the row may or may not be there.
    writeSync(said, `finishing ${key}\n`);
    await inbox.finish(id);
    writeSync(said, `finished ${key}\n`);
  }
}
await Promise.all(Array.from({ length: 32 }, produce));
