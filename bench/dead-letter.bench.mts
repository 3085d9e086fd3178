/**
 * Dead letters: parking records of 1 KB at the store and through a flow, with the delay of the main loop meanwhile, and
 * how fast metrics and a rule's errors are answered with 100,000 letters on disk.
 *
 * npm run bench -- dead-letter
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { PIPELINE } from '#lib/dead-letter/contract';
import { keepFailure } from '#lib/dead-letter/envelope';
import { openLetterStore } from '#lib/dead-letter/letter-store';
import { runtimeOf } from '#lib/node-red/runtime';
import { startNodeRed } from '../test/harness/node-red';

const STORE_LETTERS = 100_000;
const FLOW_LETTERS = 15_000;
/** As many records as a push queue has out by default. */
const IN_FLIGHT = 256;
const REQUESTS = 200;

/** A record of a kilobyte as payload, with what a webhook adds. */
const recordOf = (n: number) => ({ id: n, note: 'x'.repeat(1000) });

const results: Record<string, string>[] = [];
const report = (what: string, figure: string, bound: string) => results.push({ what, figure, bound });

/** Runs `one` so often, so many at once; letters a second, and the loop's delay at the 99th percentile in ms. */
async function run(total: number, one: (n: number) => Promise<unknown>) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const startedAt = performance.now();
  let next = 0;
  const worker = async () => {
    while (next < total) await one(next++);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  const rate = total / ((performance.now() - startedAt) / 1000);
  delay.disable();
  // The histogram counts the whole interval of its timer, which is 1 ms.
  return { rate: Math.round(rate), p99Ms: Math.max(0, delay.percentile(99) / 1e6 - 1) };
}

async function atTheStore(): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
  const store = await openLetterStore({ dataDir, now: Date.now });
  const { envelope, derived, record } = keepFailure(
    {
      error: new Error('Field "temp" expected type "float"'),
      class: 'permanent',
      rule: 'tab',
      msg: { payload: recordOf(1), topic: 'plant' },
      node: { id: 'node', type: 'record-schema', isSink: false },
      stamp: { id: 'msg_1', source: 'plant', receivedAt: 1, attempt: 1 },
      target: { node: 'node' },
    },
    Date.now(),
    true,
  );
  const park = (n: number) =>
    store.park({ place: PIPELINE, key: `key ${n}`, envelope, derived, target: { node: 'node' }, record });
  await run(5000, (n) => park(-n - 1));
  const { rate, p99Ms } = await run(STORE_LETTERS, park);
  report(`store: ${record.byteLength} B records parked`, `${rate}/s`, '>= 20000/s');
  report('store: delay of the main loop, p99', `${p99Ms.toFixed(2)} ms`, '< 10 ms');
  await store.close();
  await rm(dataDir, { recursive: true, force: true });
}

async function throughAFlow(): Promise<void> {
  const nodeRed = await startNodeRed();
  await nodeRed.deploy([
    { id: 'tab', type: 'tab', label: 'plant' },
    {
      id: 'schema',
      type: 'record-schema',
      z: 'tab',
      schema: '{"note":"float"}',
      onInvalid: 'fail',
      wires: [['end']],
    },
    { id: 'end', type: 'debug', z: 'tab', active: false, wires: [] },
    { id: 'dlq', type: 'dlq', z: 'tab', onError: 'dlq', wires: [[]] },
  ]);
  const { lineage, deadLetters } = runtimeOf(nodeRed.RED);
  const source = nodeRed.node('end');
  const schema = nodeRed.node('schema');
  const send = (n: number) =>
    lineage.send(
      source,
      { payload: recordOf(n) },
      {
        stamp: { id: `msg-${n}`, source: 'bench', receivedAt: 1, attempt: 1 },
        origin: `bench:${n}`,
        timeoutMs: 60_000,
        into: schema,
      },
    );
  await run(2000, (n) => send(-n - 1));
  const { rate, p99Ms } = await run(FLOW_LETTERS, send);
  report('flow: 1 KB records that fail, each in its letter', `${rate}/s`, '>= 3000/s');
  report('flow: delay of the main loop, p99', `${p99Ms.toFixed(2)} ms`, '');

  const missing = 100_000 - (deadLetters.room.letters.counts(PIPELINE)?.open ?? 0);
  await deadLetters.room.letters.use(async (store) => {
    const [letter] = await store.list({}, 1);
    if (!letter) throw new Error('nothing was parked');
    const { envelope, target, place } = letter;
    await run(missing, () => store.park({ place, envelope, target, record: Buffer.alloc(1000) }));
  });
  const rows = deadLetters.room.letters.counts(PIPELINE)?.open ?? 0;
  for (const path of ['/sluice/metrics', '/sluice/rules/tab/errors']) {
    const times: number[] = [];
    for (let n = 0; n < REQUESTS; n += 1) {
      const startedAt = performance.now();
      await (await fetch(`${nodeRed.url}${path}`)).text();
      times.push(performance.now() - startedAt);
    }
    times.sort((a, b) => a - b);
    const at = (share: number) => (times[Math.floor(share * times.length)] ?? 0).toFixed(2);
    report(`GET ${path}, ${rows} letters`, `median ${at(0.5)} ms, p95 ${at(0.95)} ms`, '< 5 ms');
  }
  await nodeRed.stop();
}

await atTheStore();
await throughAFlow();
console.table(results);
process.exit(0);
