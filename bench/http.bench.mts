/**
 * signed-webhook (verified, deduplicated, tracked) -> push-queue (committed) against core `http in` -> `http response`,
 * which checks and stores nothing. 1 KB bodies, 64 connections, interleaved rounds in one Node-RED; medians and ratios.
 */
import { readFile, rm, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sign } from '#lib/webhook/sign';
import { startChild } from '../scripts/node-red/child.mjs';
import { freePort } from '../scripts/node-red/ports.mjs';
import { prepareUserDir, writeFlows } from '../scripts/node-red/user-dir.mjs';
import { flows, HOOK, HOOK_FULL, HOOK_FUNCTION, PLAIN, PLAIN_FUNCTION, SECRET } from './http/flows.mjs';
import { fire, toWire, type LoadResult } from './http/load.mjs';

const CONNECTIONS = 64;
const ROUNDS = Number(process.argv[2] ?? 5);
const SECONDS = 3;
const PREPARED = 40_000;

const body = Buffer.from(JSON.stringify({ order: 1, items: 'x'.repeat(1000) }));
let nextId = 0;

/** Signed ahead of the clock: the load generator must not spend the server's CPU on signatures. */
function signedRequests(path: string, count: number): Buffer[] {
  const nowSecs = Math.floor(Date.now() / 1000);
  return Array.from({ length: count }, () => {
    nextId += 1;
    const headers = sign({ scheme: 'standard', secret: SECRET }, { body, id: `msg_${nextId}`, nowSecs });
    return toWire({ path, headers, body });
  });
}

const once = (request: Buffer | undefined) => {
  let left = request;
  return () => {
    const next = left;
    left = undefined;
    return next;
  };
};

const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;

async function measure(port: number) {
  const results = new Map<string, LoadResult[]>();
  const plain = (path: string) => {
    const request = signedRequests(path, 1)[0];
    return fire(port, CONNECTIONS, SECONDS, () => request);
  };
  const signed = (path: string) => {
    const requests = signedRequests(path, PREPARED);
    return fire(port, CONNECTIONS, SECONDS, () => requests.pop());
  };
  const sides: [string, () => Promise<LoadResult>][] = [
    [PLAIN, () => plain(PLAIN)],
    [HOOK, () => signed(HOOK)],
    [PLAIN_FUNCTION, () => plain(PLAIN_FUNCTION)],
    [HOOK_FUNCTION, () => signed(HOOK_FUNCTION)],
    [HOOK_FULL, () => signed(HOOK_FULL)],
  ];
  // One record fills it; a few more, in case it was still being opened.
  const fill = signedRequests(HOOK_FULL, 20);
  for (let isFull = false; !isFull && fill.length > 0;) {
    isFull = (await fire(port, 1, 1, once(fill.pop()))).byStatus.has(200);
  }
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [side, run] of sides) {
      const result = await run();
      const expected = side === HOOK_FULL ? 503 : 200;
      for (const [status, count] of result.byStatus) {
        if (status !== expected)
          throw new Error(`${side} answered ${status} ${count} times, expected ${expected}`);
      }
      // The first round warms up the code on both sides.
      if (round > 0) results.set(side, [...(results.get(side) ?? []), result]);
    }
  }
  return results;
}

async function residentMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

/** Resident memory of a settled Node-RED that has no node of ours in its flow, with or without the pack. */
async function idleMb(withPack: boolean): Promise<number> {
  const userDir = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
  if (withPack) await prepareUserDir(userDir);
  await writeFlows(userDir, [{ id: 'tab', type: 'tab', label: 'idle' }]);
  const child = await startChild({ userDir, port: await freePort() });
  await new Promise((resolve) => setTimeout(resolve, 4000));
  const resident = await residentMb(child.pid);
  await child.stop();
  await rm(userDir, { recursive: true, force: true });
  return resident;
}

async function main() {
  const userDir = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
  await prepareUserDir(userDir);
  await writeFlows(userDir, flows);
  const child = await startChild({ userDir, port: await freePort() });
  const results = await measure(child.port);
  await child.stop();
  await rm(userDir, { recursive: true, force: true });

  const rate = (side: string) => median((results.get(side) ?? []).map((result) => result.perSecond));
  const row = (label: string, side: string, base: string, target: string) => ({
    '': label,
    'requests/s': Math.round(rate(side)),
    'p50 ms': +median((results.get(side) ?? []).map((result) => result.p50)).toFixed(1),
    'p99 ms': +median((results.get(side) ?? []).map((result) => result.p99)).toFixed(1),
    ratio: `${(rate(side) / rate(base)).toFixed(2)}x`,
    target,
  });
  console.table([
    row('http in -> http response', PLAIN, PLAIN, ''),
    row('signed-webhook -> push-queue', HOOK, PLAIN, '>= 1.35x, aim 2x'),
    row('http in -> function -> http response', PLAIN_FUNCTION, PLAIN_FUNCTION, ''),
    row('signed-webhook -> function -> push-queue', HOOK_FUNCTION, PLAIN_FUNCTION, '>= 1.2x, aim 2x'),
    row('signed-webhook, refused (503)', HOOK_FULL, PLAIN, '>= 1.5x'),
  ]);

  const without = [await idleMb(false), await idleMb(false), await idleMb(false)];
  const withPack = [await idleMb(true), await idleMb(true), await idleMb(true)];
  const more = median(withPack) - median(without);
  console.log(
    `idle: ${median(without).toFixed(0)} MB without the pack, ${more.toFixed(1)} MB more with it (<= 40)`,
  );
}

await main();
