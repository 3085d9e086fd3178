/**
 * The push queue's file against what bounds it from above (an append-only log with one fdatasync for all that wait), from
 * below (a commit for each record), and against servers that do the same work over a socket, where they are installed.
 * Rounds alternate between all of them; medians. Options: `--rounds N`, `--ms N`, `--records N` (of the deep backlog),
 * `--dir PATH`, `--write` for bench/results/queue.md.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { cpus, loadavg, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { inRoot } from '../scripts/paths.mjs';
import { atDepth, type Backlog } from './queue/backlog.mjs';
import { burst } from './queue/bounds.mjs';
import { appendLoad, median, medianOf, type Appender, type LoadResult } from './queue/load.mjs';
import { appendLog, commitEach, ourStore } from './queue/local.mjs';
import { nats } from './queue/nats.mjs';
import { postgres } from './queue/postgres.mjs';
import { rabbitmq } from './queue/rabbitmq.mjs';
import { redis } from './queue/redis.mjs';
import { steadyLoad } from './queue/steady.mjs';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    ms: { type: 'string', default: '1500' },
    records: { type: 'string', default: '5000000' },
    dir: { type: 'string', default: tmpdir() },
    write: { type: 'boolean', default: false },
  },
});
const ROUNDS = Number(options.rounds);
const MS = Number(options.ms);

const OURS = 'push queue';
const STEADY = 'push queue, append + lease + settle';
const LOG = 'append-only log, fdatasync';
const RABBIT = 'RabbitMQ, quorum queue, confirms';
const EACH = 'a commit for each record';
const CONTESTANTS: Record<string, (dir: string) => Promise<Appender | undefined>> = {
  [LOG]: appendLog,
  [OURS]: ourStore,
  [EACH]: commitEach,
  [RABBIT]: rabbitmq,
  'Redis, AOF always': redis,
  'PostgreSQL, group INSERT': postgres,
  'NATS JetStream, file (2.9: no fsync)': nats,
};
const MANY: readonly string[] = [LOG, OURS];

async function inDir<T>(work: (dir: string) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(options.dir, 'sluice-bench-'));
  try {
    return await work(dir);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

const results = new Map<string, LoadResult[]>();
const note = (name: string, producers: number, result: LoadResult) => {
  const key = `${name} ${producers}`;
  results.set(key, [...(results.get(key) ?? []), result]);
};

async function round(): Promise<void> {
  for (const producers of [256, 4096]) {
    for (const [name, open] of Object.entries(CONTESTANTS)) {
      if (producers > 256 && !MANY.includes(name)) continue;
      await inDir(async (dir) => {
        const target = await open(dir);
        if (!target) return;
        note(name, producers, await appendLoad(target, producers, MS));
        await target.close();
      });
    }
    await inDir(async (dir) => {
      const { store } = await ourStore(dir);
      const perSecond = await steadyLoad(store, producers, MS);
      note(STEADY, producers, { perSecond, p50: NaN, p99: NaN, loopP99: NaN });
      await store.close();
    });
  }
}

const lines: string[] = [];
const say = (line = '') => {
  lines.push(line);
  console.log(line);
};
const of = (name: string, producers: number) => medianOf(results.get(`${name} ${producers}`) ?? []);
/** Ratios of one round each: what disturbs the machine then disturbs both sides. */
const ratio = (a: string, b: string, producers: number) => {
  const below = results.get(`${b} ${producers}`) ?? [];
  const pairs = (results.get(`${a} ${producers}`) ?? []).map(
    ({ perSecond }, index) => perSecond / (below[index]?.perSecond ?? NaN),
  );
  return median(pairs);
};
const shown = (value: number, digits: number) =>
  Number.isNaN(value) ? 'not measured' : value.toFixed(digits);
const verdict = (what: string, value: number, wanted: string, reached: boolean, digits = 2) => {
  const answer = Number.isNaN(value) ? '' : reached ? 'yes' : 'no';
  say(`| ${what} | ${shown(value, digits)} | ${wanted} | ${answer} |`);
};

function report(depths: readonly Backlog[], bounds: Awaited<ReturnType<typeof burst>>): void {
  say('# npm run bench -- queue');
  say();
  say(
    `${cpus().length} processors, ${Math.round(totalmem() / 2 ** 30)} GB, Node.js ${process.versions.node}; load average ${loadavg()
      .map((load) => load.toFixed(1))
      .join(', ')} at the end; medians of ${ROUNDS} rounds; records of 1 KB.`,
  );
  say();
  say('| | producers | records/s | ack p50 ms | ack p99 ms | loop p99 ms |');
  say('| --- | --: | --: | --: | --: | --: |');
  for (const key of results.keys()) {
    const [, name = '', producers = ''] = /^(.*) (\d+)$/.exec(key) ?? [];
    const { perSecond, p50, p99, loopP99 } = of(name, Number(producers));
    const cells = [p50, p99, loopP99].map((value) => (Number.isNaN(value) ? '' : value.toFixed(1)));
    say(`| ${name} | ${producers} | ${Math.round(perSecond)} | ${cells.join(' | ')} |`);
  }
  say();
  say('| ratio | measured | wanted | reached |');
  say('| --- | --: | --- | --- |');
  const log = ratio(OURS, LOG, 256);
  verdict('append, of the log, 256 producers', log, '>= 0.65', log >= 0.65);
  const steady = ratio(STEADY, LOG, 256);
  verdict('append + lease + settle, of the log, 256', steady, '>= 0.60', steady >= 0.6);
  const steadyMany = ratio(STEADY, LOG, 4096);
  verdict('append + lease + settle, of the log, 4096', steadyMany, '>= 0.85', steadyMany >= 0.85);
  const each = ratio(OURS, EACH, 256);
  verdict('append, of a commit for each', each, '>= 25', each >= 25, 1);
  const rabbit = ratio(OURS, RABBIT, 256);
  verdict(`append, of ${RABBIT}`, rabbit, '>= 4', rabbit >= 4, 1);
  for (const name of Object.keys(CONTESTANTS).slice(4)) {
    const times = ratio(OURS, name, 256);
    say(`| append, of ${name} | ${shown(times, 1)} | | |`);
  }
  const { loopP99 } = of(OURS, 256);
  verdict('loop delay p99 ms at 256 producers', loopP99, '<= 8', loopP99 <= 8, 1);
  const [small, deep] = depths;
  if (small && deep) {
    const cycle = (depth: Backlog) => depth.appendMs + depth.leaseMs + depth.settleMs;
    const times = cycle(deep) / cycle(small);
    verdict(
      `p50 of append, lease and settle at ${deep.records} of at ${small.records} records`,
      times,
      '<= 1.15',
      times <= 1.15,
    );
    for (const name of ['appendMs', 'leaseMs', 'settleMs'] as const) {
      say(
        `| ${name.slice(0, -2)} alone: ${small[name].toFixed(2)} ms, ${deep[name].toFixed(2)} ms | ${(deep[name] / small[name]).toFixed(2)} | | |`,
      );
    }
    verdict(`opening ${deep.records} records, ms`, deep.openMs, '<= 100', deep.openMs <= 100, 0);
  }
  verdict('burst of 100000 into 20 MiB: bytes over', bounds.overshoot, '0', bounds.overshoot === 0, 0);
  verdict('file after a full drain, MB', bounds.fileBytes / 2 ** 20, '< 1', bounds.fileBytes < 2 ** 20);
}

for (let index = 0; index < ROUNDS; index++) await round();
const bounds = await inDir(burst);
const depths: Backlog[] = [];
for (const records of [10_000, Number(options.records)]) {
  if (records > 0) depths.push(await inDir((dir) => atDepth(dir, records)));
}
report(depths, bounds);
if (options.write) {
  await mkdir(inRoot('bench', 'results'), { recursive: true });
  await writeFile(inRoot('bench', 'results', 'queue.md'), `${lines.join('\n')}\n`);
}
