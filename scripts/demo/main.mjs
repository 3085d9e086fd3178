import { randomBytes } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { createRequire } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import { inRoot } from '../paths.mjs';
import { prepare } from '../setup/prepare.mjs';
import { makeProgress } from '../terminal/progress.mjs';
import { startWaiting } from '../terminal/waiting.mjs';
import { bar, resultOf, table } from './report.mjs';
import { newTally, sendAll } from './sender.mjs';
import { setUp } from './stage.mjs';

const COUNT = 2000;
const KILL_DESTINATION_AT = 300;
const REFUSALS_TO_SEE = 40;
const OUTAGE_AT_MOST_MS = 8_000;
const KILL_NODE_RED_AT = 1500;
/** Few enough that the queue has room when it comes back: a full one without a known pace asks senders to wait long. */
const BACKLOG_AT_KILL = 250;
const GIVE_UP_MS = 150_000;

/** @typedef {Awaited<ReturnType<typeof setUp>>} Stage */

/**
 * Resolves when the condition holds or the time is up; rejects when the demo is called off.
 * @param {() => boolean | Promise<boolean>} condition
 * @param {AbortSignal} signal
 * @param {number} [withinMs]
 */
async function until(condition, signal, withinMs = Number.POSITIVE_INFINITY) {
  const startedAt = performance.now();
  while (!(await condition()) && performance.now() - startedAt < withinMs) {
    await delay(20, undefined, { signal });
  }
}

/**
 * What goes wrong, at counts rather than times, so that a fast and a slow machine see the same story.
 * @param {Stage} stage
 * @param {import('./sender.mjs').Tally} tally
 * @param {(line: string) => void} say
 * @param {AbortSignal} signal
 */
async function disturb(stage, tally, say, signal) {
  await until(() => tally.accepted.size >= KILL_DESTINATION_AT, signal);
  await stage.killDestination();
  say('  x destination killed: orders pile up in the queue, then the webhook refuses');
  await until(() => tally.refused >= REFUSALS_TO_SEE, signal, OUTAGE_AT_MOST_MS);
  await stage.restartDestination();
  say('  > destination is back');
  await until(async () => {
    const { accepted, delivered } = resultOf(tally, await stage.arrivals());
    return accepted >= KILL_NODE_RED_AT && accepted - delivered <= BACKLOG_AT_KILL;
  }, signal);
  say('  x Node-RED killed with SIGKILL');
  await stage.killAndRestartNodeRed();
  say('  > Node-RED is back');
}

/**
 * @param {Stage} stage
 * @param {string} secret
 * @param {AbortSignal} signal
 */
async function perform(stage, secret, signal) {
  const { sign } = createRequire(inRoot('package.json'))(inRoot('dist/lib/webhook/sign.js'));
  const tally = newTally();
  const progress = makeProgress();
  let isRunning = true;
  const frame = async () => {
    const { accepted, refused, delivered } = resultOf(tally, await stage.arrivals());
    return `${bar(delivered, COUNT)} ${delivered} delivered, ${Math.max(0, accepted - delivered)} queued, ${refused} refused`;
  };
  const show = async () => {
    const line = await frame();
    if (isRunning) progress.show(line);
  };
  const redraw = setInterval(() => void show(), 200);
  const allArrived = async () => resultOf(tally, await stage.arrivals()).lost === 0;
  try {
    await Promise.all([
      sendAll({ url: stage.url, secret, sign, signal }, COUNT, tally),
      disturb(stage, tally, progress.say, signal),
    ]);
    await until(allArrived, signal);
  } catch (error) {
    // Called off: the table shows how far it came.
    if (!signal.aborted) throw error;
  } finally {
    clearInterval(redraw);
    isRunning = false;
  }
  const result = resultOf(tally, await stage.arrivals());
  progress.say(await frame());
  progress.say(table(result));
  for (const answer of new Set(tally.unexpected)) progress.say(`Unexpected answer: ${answer}`);
  if (tally.unanswered > 0) {
    progress.say(
      `${tally.unanswered} requests got no answer at all while Node-RED was down; they were sent again.`,
    );
  }
  return result.lost === 0 && result.accepted === COUNT;
}

/** Returns the exit status: 1 when something was lost, or not everything could be sent. */
export async function main() {
  if (!(await prepare())) return 1;
  const secret = `whsec_${randomBytes(24).toString('base64')}`;
  const interrupted = new AbortController();
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) {
    process.on(signal, () => interrupted.abort());
  }
  const waiting = startWaiting('Starting a destination and Node-RED');
  const stage = await setUp(secret).finally(() => waiting.end());
  const startedAt = performance.now();
  try {
    console.log(
      `Sending ${COUNT.toLocaleString('en-US')} signed webhooks through signed-webhook > push-queue > rest-sink:`,
    );
    const signal = AbortSignal.any([interrupted.signal, AbortSignal.timeout(GIVE_UP_MS)]);
    setMaxListeners(0, signal);
    const isComplete = await perform(stage, secret, signal);
    if (interrupted.signal.aborted) {
      console.log('Called off.');
      return 130;
    }
    if (!isComplete) console.error(`\nThe last lines of Node-RED's log:\n${stage.log().slice(-2000)}`);
    console.log(`Took ${Math.round((performance.now() - startedAt) / 1000)} s.`);
    return isComplete ? 0 : 1;
  } finally {
    await stage.tearDown();
  }
}
