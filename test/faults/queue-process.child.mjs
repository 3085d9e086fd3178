// Uses a queue until it is killed. Writes what it knows, one line each: `A n` record n was acknowledged, `S n` it is
// about to be settled, `D n` its settlement was acknowledged. With `hold` it only opens the file.
import { writeSync } from 'node:fs';
import { openSqliteStore } from '#lib/queue/sqlite-store';

const [file, mode, firstText] = process.argv.slice(2);
const store = await openSqliteStore({ file });
say('open\n');

let next = Number(firstText);
let lines = '';
setInterval(() => {
  const text = lines;
  lines = '';
  say(text);
}, 2);

/** Has left this process when it returns, however slowly it is read. */
function say(text) {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(1, bytes, at);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
    }
  }
}

async function produce() {
  for (;;) {
    const number = next++;
    const record = Buffer.alloc(100 + (number % 700));
    record.writeUInt32LE(number);
    await store.append(record, number % 3 === 0 ? { key: String(number) } : {});
    lines += `A ${number}\n`;
  }
}

async function consume() {
  for (;;) {
    const leases = await store.lease(500, 2 ** 20);
    const kept = leases.filter((_, index) => index % 2 === 0);
    say(kept.map(({ record }) => `S ${Buffer.from(record).readUInt32LE()}\n`).join(''));
    await Promise.all(
      kept.map(async ({ seq, record }) => {
        await store.settle({ seq, outcome: 'done' });
        lines += `D ${Buffer.from(record).readUInt32LE()}\n`;
      }),
    );
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
}

if (mode === 'work') {
  for (let producer = 0; producer < 64; producer++) void produce();
  void consume();
}
