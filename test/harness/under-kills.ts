import { expect } from 'vitest';
import type { ChildNodeRed } from './child-node-red';
import { prepareHook, startSenders, type Senders } from './senders';
import { entryOf, readStatus } from './status';
import { waitFor } from './wait';

const CONNECTIONS = 32;

export interface KillRun {
  /** The Node-RED of the moment: its flow has the webhook `orders`, the node `queue` and behind it the node `sink`. */
  readonly running: () => ChildNodeRed;
  readonly random: () => number;
  readonly kill: () => Promise<void>;
  readonly kills: number;
  readonly webhooks: number;
  /** Gets the senders, to stop them should the test fail. */
  readonly onSenders: (senders: Senders) => void;
}

/**
 * Sends webhooks that carry `record-0`, `record-1`, …, calls `kill` at random moments meanwhile, and waits until the queue
 * is empty. Everything was accepted then, and nothing given up.
 */
export async function sendUnderKills({
  running,
  random,
  kill,
  kills,
  webhooks,
  onSenders,
}: KillRun): Promise<void> {
  const hooks = Array.from({ length: webhooks }, (_, index) => {
    const record = `record-${index}`;
    return prepareHook('orders', record, { record, filler: 'x'.repeat(100 + (index % 400)) });
  });
  let killAt = Infinity;
  let moment = () => {};
  const senders = startSenders(running().port, CONNECTIONS, hooks, (count) => {
    if (count === killAt) moment();
  });
  onSenders(senders);
  const { finished, accepted } = senders;
  for (let killed = 0; killed < kills; killed += 1) {
    const reached = new Promise<void>((resolve) => (moment = resolve));
    killAt = accepted.size + 100 + Math.floor((random() * webhooks) / kills / 2);
    await Promise.race([reached, finished]);
    await kill();
  }
  await finished;
  const entry = async (id: string) => entryOf((await readStatus(running())).sinks, id);
  await waitFor('an empty queue', async () => (await entry('queue'))['records'] === 0, 90_000);
  expect(accepted.size).toBe(webhooks);
  expect(await entry('queue')).toMatchObject({ dead: 0, dropped: 0 });
  expect(await entry('sink')).toMatchObject({ dropped: 0, failed: 0, backlog: 0 });
}
