/**
 * Soak: as many records as ingest-api -> function -> push-queue -> rest-sink takes, while every two seconds a forced
 * deploy replaces nodes (full, changed flows, changed nodes, reload in turn). Senders repeat a record until it is
 * accepted. At the end the ledger must balance: accepted = delivered + queued + in flight + dead.
 *
 * npm run bench -- soak [minutes]
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from '../scripts/node-red/child.mjs';
import { freePort } from '../scripts/node-red/ports.mjs';
import { prepareUserDir, writeFlows } from '../scripts/node-red/user-dir.mjs';
import { startLedgerDestination } from './soak/destination.mjs';
import { soakFlow, TOKEN } from './soak/flow.mjs';
import { startSenders } from './soak/senders.mjs';
import { readCounts } from './soak/counts.mjs';

const MINUTES = Number(process.argv[2] ?? 5);
const CONNECTIONS = 64;
const DEPLOY_EVERY_MS = 2000;
const REPORT_EVERY_MS = 30_000;
const DRAIN_MS = 300_000;
const DEPLOY_TYPES = ['full', 'flows', 'nodes', 'reload'] as const;

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

async function main(): Promise<void> {
  const userDir = await mkdtemp(join(tmpdir(), 'sluice-soak-'));
  await prepareUserDir(userDir);
  const destination = await startLedgerDestination();
  await writeFlows(userDir, soakFlow(destination.url, 0, TOKEN));
  const child = await startChild({ userDir, port: await freePort() });
  const deploy = async (number: number) => {
    const type = DEPLOY_TYPES[number % DEPLOY_TYPES.length] ?? 'full';
    const response = await fetch(`${child.url}/flows`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'node-red-deployment-type': type },
      body: JSON.stringify(soakFlow(destination.url, number)),
    });
    if (!response.ok) throw new Error(`deploy ${number} (${type}) was answered ${response.status}`);
  };
  const senders = startSenders(child.port, CONNECTIONS);
  const start = performance.now();
  const seconds = () => (performance.now() - start) / 1000;
  const rows: Record<string, number>[] = [];
  /** Records that a deploy may have cut off behind the queue; each may be delivered again. */
  let cutOff = 0;
  let deploys = 0;
  let reportedAt = start;

  const report = async () => {
    const { queued, inFlight, dead } = await readCounts(child.url);
    const { distinct, repeats } = destination.counts();
    const row = {
      seconds: Math.round(seconds()),
      deploys,
      accepted: senders.accepted(),
      refused: senders.refused(),
    };
    rows.push({ ...row, delivered: distinct, queued, 'in flight': inFlight, dead, repeats });
    console.log(JSON.stringify(rows.at(-1)));
  };

  for (;;) {
    await pause(DEPLOY_EVERY_MS);
    if (seconds() > MINUTES * 60) break;
    deploys += 1;
    cutOff += (await readCounts(child.url)).inFlight;
    await deploy(deploys);
    if (performance.now() - reportedAt < REPORT_EVERY_MS) continue;
    reportedAt = performance.now();
    await report();
  }
  const acceptedPerSecond = senders.accepted() / seconds();
  await senders.stop();
  const drainUntil = performance.now() + DRAIN_MS;
  let counts = await readCounts(child.url);
  while (counts.queued > 0 && performance.now() < drainUntil) {
    await pause(200);
    counts = await readCounts(child.url);
  }
  await report();
  console.table(rows);

  const accepted = senders.acceptedRecords();
  const delivered = accepted.filter((record) => destination.has(record)).length;
  const { distinct, repeats } = destination.counts();
  const difference = accepted.length - delivered - counts.queued - counts.dead;
  const line = (name: string, value: number) => ({ ledger: name, records: value });
  console.table([
    line('accepted', accepted.length),
    line('delivered', delivered),
    line('queued or in flight', counts.queued),
    line('dead', counts.dead),
    line('accepted - delivered - queued - dead', difference),
    line('delivered, and never accepted', distinct - delivered),
    line('delivered again', repeats),
    line('in flight when a deploy began, all deploys', cutOff),
  ]);
  console.log(`${Math.round(acceptedPerSecond)} records accepted a second, ${deploys} deploys`);
  await child.stop();
  await destination.close();
  await rm(userDir, { recursive: true, force: true });
  if (difference !== 0 || counts.queued !== 0) process.exitCode = 1;
}

await main();
