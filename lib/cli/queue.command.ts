import { createWriteStream, statSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Command } from 'commander';
import { InputError } from '../errors/errors';
import { decodeRecord } from '../queue/record-format';
import { isPlain, toTagged } from '../queue/tagged-json';
import {
  checkQueueFile,
  repairQueueFile,
  storedRecords,
  withQueueFile,
  type QueueFileReport,
  type StoredRecord,
} from '../queue/sqlite-offline';
import { CheckFailed } from './exit-status';
import { progressLine } from './progress-line';
import { queueDumpCommand } from './queue-dump.command';

const FILE = ['<file>', 'the file of a queue, such as push_queue.db in the data directory'] as const;

function mustExist(file: string): void {
  if (statSync(file, { throwIfNoEntry: false })?.isFile()) return;
  throw new InputError(
    'ERR_SLUICE_CLI_FILE_UNREADABLE',
    `cannot read ${file}; check the path and its permissions`,
  );
}

function summary({ records, bytes, parked, dead }: QueueFileReport): string {
  return `${records} records (${bytes} bytes), ${parked} of them parked; ${dead} dead letters`;
}

async function check(file: string, { json }: { readonly json: boolean }): Promise<void> {
  mustExist(file);
  const report = await checkQueueFile(file);
  const sound = report.problems.length === 0;
  if (json) console.log(JSON.stringify({ file, sound, ...report }, null, 2));
  else {
    console.log(`${file} ${sound ? 'is sound' : 'is damaged'}: ${summary(report)}`);
    for (const problem of report.problems) console.log(`  ${problem}`);
    if (!sound) console.log(`  run: sluice queue repair ${file}`);
  }
  if (!sound) throw new CheckFailed();
}

async function repair(file: string, { json }: { readonly json: boolean }): Promise<void> {
  mustExist(file);
  const before = await checkQueueFile(file);
  if (before.problems.length === 0) {
    if (json) console.log(JSON.stringify({ file, repaired: false, ...before }, null, 2));
    else console.log(`${file} is sound: ${summary(before)}; nothing to repair`);
    return;
  }
  const progress = progressLine(json);
  const detail = await repairQueueFile(file, Date.now(), (saved, expected) => {
    progress.show(saved, expected, `${saved} of ${expected} records saved`);
  });
  progress.end();
  const after = await checkQueueFile(file);
  if (json) console.log(JSON.stringify({ file, repaired: true, detail, ...after }, null, 2));
  else console.log(`${file}: ${detail}\n${file} now holds ${summary(after)}`);
  if (after.problems.length > 0) throw new CheckFailed();
}

/** What is in the message as plain JSON, or tagged where JSON can't say it; a record that can't be read as base64. */
function line({ record, at, dueAt, ...stored }: StoredRecord): string {
  const times = { at: new Date(at).toISOString(), ...(dueAt === undefined ? {} : { dueAt }) };
  try {
    const msg = decodeRecord(record);
    const message = isPlain(msg) ? { msg } : { tagged: toTagged(msg) };
    return `${JSON.stringify({ ...stored, ...times, ...message })}\n`;
  } catch {
    return `${JSON.stringify({ ...stored, ...times, raw: Buffer.from(record).toString('base64') })}\n`;
  }
}

function* lines(records: Iterable<StoredRecord>): Generator<string> {
  for (const record of records) yield line(record);
}

async function exportRecords(file: string, { out }: { readonly out?: string }): Promise<void> {
  mustExist(file);
  await withQueueFile(file, async (db) => {
    const to = out === undefined ? process.stdout : createWriteStream(out, { flags: 'wx' });
    await pipeline(Readable.from(lines(storedRecords(db))), to, { end: out !== undefined });
  });
}

export function queueCommand(): Command {
  return new Command('queue')
    .summary("list what waits; check, repair or export a queue's file")
    .description(
      'dump asks a running Node-RED; the others work on the file of a queue while none uses it, and refuse one in use.',
    )
    .addCommand(queueDumpCommand())
    .addCommand(
      new Command('check')
        .summary('look at everything in the file; changes nothing')
        .argument(...FILE)
        .option('--json', 'print {file, sound, records, bytes, parked, dead, problems}', false)
        .action(check),
    )
    .addCommand(
      new Command('repair')
        .summary('set a damaged file aside and make a new one of what can be read of it')
        .argument(...FILE)
        .option('--json', 'print {file, repaired, detail, records, bytes, parked, dead, problems}', false)
        .action(repair),
    )
    .addCommand(
      new Command('export')
        .summary('print every record, the dead ones too, as a line of JSON')
        .argument(...FILE)
        .option('--out <path>', 'write to a new file instead')
        .action(exportRecords),
    );
}
