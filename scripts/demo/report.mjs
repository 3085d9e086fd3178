/**
 * @typedef {{ sent: number, accepted: number, refused: number, delivered: number, duplicated: number, lost: number }} Result
 */

/**
 * Compares what the sender was promised with what the destination noted.
 * @param {import('./sender.mjs').Tally} tally
 * @param {readonly number[]} arrivals order numbers as they arrived
 * @returns {Result}
 */
export function resultOf(tally, arrivals) {
  const delivered = new Set(arrivals);
  return {
    sent: tally.sent,
    accepted: tally.accepted.size,
    refused: tally.refused,
    delivered: delivered.size,
    duplicated: arrivals.length - delivered.size,
    lost: [...tally.accepted].filter((order) => !delivered.has(order)).length,
  };
}

const MEANINGS = {
  sent: 'different webhooks',
  accepted: 'answered 200: on disk, ours to deliver',
  refused: 'answered 503: nothing stored, sent again by the sender',
  delivered: 'different webhooks that the destination noted',
  duplicated: 'noted once more: a crash repeats what was in flight',
  lost: 'accepted and not delivered',
};

/** @param {Result} result */
export function table(result) {
  const rule = `+${'-'.repeat(12)}+${'-'.repeat(9)}+${'-'.repeat(56)}+`;
  const rows = Object.entries(MEANINGS).map(([name, meaning]) => {
    const count = result[/** @type {keyof Result} */ (name)].toLocaleString('en-US');
    return `| ${name.padEnd(10)} | ${count.padStart(7)} | ${meaning.padEnd(54)} |`;
  });
  return [rule, ...rows, rule].join('\n');
}

const WIDTH = 30;

/**
 * @param {number} part
 * @param {number} whole
 */
export function bar(part, whole) {
  const filled = Math.round((WIDTH * Math.min(part, whole)) / whole);
  return `[${'#'.repeat(filled)}${'.'.repeat(WIDTH - filled)}]`;
}
