/**
 * What the batching sinks cost: 10,000 rows of 1 KB, by the sink and by what a program would write without it, on the same
 * server in the same run. Medians of the ratios of each round. Options: `--rows N`, `--rounds N`, `--write` for
 * bench/results/sinks.md.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus, loadavg, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { inRoot } from '../scripts/paths.mjs';
import { hasClickHouse } from '../test/harness/clickhouse';
import { median } from './queue/load.mjs';
import { clickhouse } from './sinks/clickhouse.mjs';
import { measure, type Contest } from './sinks/contest.mjs';
import { postgres } from './sinks/postgres.mjs';

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '7' },
    write: { type: 'boolean', default: false },
  },
});
const ROWS = Number(options.rows);
const ROUNDS = Number(options.rounds);
const lines: string[] = [];
const say = (line = '') => {
  lines.push(line);
  console.log(line);
};

/** A bound on a ratio of times: `of` is how many times longer the other way may, or has to, take. */
interface Bound {
  readonly what: string;
  readonly slow: string;
  readonly fast: string;
  readonly wanted: { readonly least?: number; readonly most?: number };
}

async function report(name: string, contest: Contest | undefined, bounds: readonly Bound[]): Promise<void> {
  say(`## ${name}`);
  say();
  if (!contest) {
    say('Not on this machine.');
    say();
    return;
  }
  try {
    const times = await measure(contest, ROUNDS);
    say('| way | rows/s |');
    say('| --- | --: |');
    for (const [way, all] of times) say(`| ${way} | ${Math.round((ROWS / median(all)) * 1000)} |`);
    say();
    say('| ratio | measured | wanted | reached |');
    say('| --- | --: | --- | --- |');
    for (const { what, slow, fast, wanted } of bounds) {
      const below = times.get(fast) ?? [];
      const ratio = median((times.get(slow) ?? []).map((ms, round) => ms / (below[round] ?? NaN)));
      const { least = 0, most = Infinity } = wanted;
      const text = wanted.most === undefined ? `>= ${least}` : `<= ${most}`;
      say(`| ${what} | ${ratio.toFixed(2)} | ${text} | ${ratio >= least && ratio <= most ? 'yes' : 'no'} |`);
    }
    const inserts = await contest.insertsForOneBad();
    say(`| inserts to isolate 1 bad row in 1,000 | ${inserts} | <= 22 | ${inserts <= 22 ? 'yes' : 'no'} |`);
    say();
  } finally {
    await contest.close();
  }
}

const PARSED = 'client.insert(objects), parsed first';
const CLICKHOUSE: readonly Bound[] = [
  {
    what: 'sink of raw bytes, checkValues off, times client.insert(objects) of the same bytes',
    ...{ slow: PARSED, fast: 'sink, checkValues off', wanted: { least: 1.5 } },
  },
  {
    what: 'sink of raw bytes, checkValues on, times client.insert(objects) of the same bytes',
    ...{ slow: PARSED, fast: 'sink, checkValues on', wanted: { least: 1.1 } },
  },
  {
    what: 'sink of raw bytes, checkValues off, times client.insert(objects)',
    ...{ slow: 'client.insert(objects)', fast: 'sink, checkValues off', wanted: { least: 1.5 } },
  },
  {
    what: 'sink of raw bytes, checkValues on, times client.insert(objects)',
    ...{ slow: 'client.insert(objects)', fast: 'sink, checkValues on', wanted: { least: 1.1 } },
  },
  {
    what: 'time of the sink, checkValues off, of a bare prebuilt insert',
    ...{ slow: 'sink, checkValues off', fast: 'bare insert, prebuilt bytes', wanted: { most: 1.25 } },
  },
];

say('# npm run bench -- sinks');
say();
say(
  `${cpus().length} processors, ${Math.round(totalmem() / 2 ** 30)} GB, Node.js ${process.versions.node}; ${ROWS} rows of 1 KB in one batch; medians of ${ROUNDS} rounds.`,
);
say();
for (const kind of ['modern', 'old'] as const) {
  const name = kind === 'modern' ? 'ClickHouse 26.7 (chdb)' : 'ClickHouse 18.16';
  await report(name, hasClickHouse(kind) ? await clickhouse(kind, ROWS) : undefined, CLICKHOUSE);
}
await report('PostgreSQL', await postgres(ROWS), [
  {
    what: 'time of the sink, of a bare prebuilt COPY',
    ...{ slow: 'sink, objects', fast: 'bare COPY, prebuilt bytes', wanted: { most: 1.25 } },
  },
]);
say(
  `Load average at the end: ${loadavg()
    .map((load) => load.toFixed(1))
    .join(', ')}.`,
);
if (options.write) {
  await mkdir(inRoot('bench', 'results'), { recursive: true });
  await writeFile(inRoot('bench', 'results', 'sinks.md'), `${lines.join('\n')}\n`);
}
