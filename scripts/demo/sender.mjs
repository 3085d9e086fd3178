// A webhook sender as providers run them: signs each order, sends it again with the same id until it is accepted, and
// waits as long as a refusal asks.
import { setTimeout as delay } from 'node:timers/promises';

const SENDERS = 32;
const NO_ANSWER_WAIT_MS = 250;
const ANSWER_WITHIN_MS = 30_000;
const BODY_BYTES = 1024;

/**
 * @typedef {(config: object, request: { body: Uint8Array, id: string, nowSecs: number }) => Readonly<Record<string, string>>} Sign
 *
 * @typedef {object} Tally
 * @property {number} sent orders sent at least once
 * @property {Set<number>} accepted orders answered with 200
 * @property {number} refused answers 503: kept here and sent again
 * @property {number} unanswered requests that met a closed door or a process that died
 * @property {string[]} unexpected any other answer
 */

/** @returns {Tally} */
export const newTally = () => ({ sent: 0, accepted: new Set(), refused: 0, unanswered: 0, unexpected: [] });

/** @param {number} order */
function bodyOf(order) {
  const head = JSON.stringify({ order, note: '' });
  return Buffer.from(JSON.stringify({ order, note: 'x'.repeat(BODY_BYTES - head.length) }));
}

/**
 * Sends until the order is accepted, or is answered in a way that repeating can't mend.
 * @param {{ url: string, secret: string, sign: Sign, signal: AbortSignal }} target
 * @param {number} order
 * @param {Tally} tally
 */
async function sendOrder({ url, secret, sign, signal }, order, tally) {
  const body = bodyOf(order);
  while (!signal.aborted) {
    const nowSecs = Math.floor(Date.now() / 1000);
    const headers = sign({ scheme: 'standard', secret }, { body, id: `order-${order}`, nowSecs });
    let waitMs = NO_ANSWER_WAIT_MS;
    try {
      const answer = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
        signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_WITHIN_MS)]),
      });
      const text = await answer.text();
      if (answer.status === 200) {
        tally.accepted.add(order);
        return;
      }
      if (answer.status !== 503) {
        tally.unexpected.push(`${answer.status} ${text}`);
        return;
      }
      tally.refused++;
      waitMs = Number(answer.headers.get('retry-after')) * 1000;
    } catch {
      tally.unanswered++;
    }
    await delay(waitMs, undefined, { signal }).catch(() => undefined);
  }
}

/**
 * Sends orders 1 … count, some at a time; resolves when each has its answer.
 * @param {{ url: string, secret: string, sign: Sign, signal: AbortSignal }} target
 * @param {number} count
 * @param {Tally} tally counts while it runs
 */
export async function sendAll(target, count, tally) {
  const one = async () => {
    while (tally.sent < count && !target.signal.aborted) await sendOrder(target, ++tally.sent, tally);
  };
  await Promise.all(Array.from({ length: SENDERS }, one));
}
