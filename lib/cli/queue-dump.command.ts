import { Command, Option } from 'commander';
import type { WaitingRecord } from '../delivery/contract';
import { AdminClient, withServer, type ServerFlags } from './client';
import { printable, table } from './table';

interface Waiting {
  readonly queue: { readonly id: string; readonly name: string; readonly type: string };
  readonly total: number;
  readonly records: readonly WaitingRecord[];
}

interface Flags extends ServerFlags {
  readonly limit: string;
  readonly json: boolean;
}

const HEAD = ['state', 'age, s', 'attempts', 'bytes', 'topic', 'account', 'product', 'destination', 'id'];

const text = (value: unknown) => (typeof value === 'string' || typeof value === 'number' ? value : '');

function asText({ queue, total, records }: Waiting): string {
  const rows = records.map((record) => [
    record.state,
    record.age_secs,
    record.attempts,
    record.bytes,
    ...['topic', 'account', 'product', 'destination', 'id'].map((name) => text(record[name])),
  ]);
  return `${queue.type} ${printable(queue.name)}: ${total} waiting, the oldest ${records.length}\n${table(HEAD, rows)}`;
}

/** Without a queue, each push queue there is. */
async function queuesFor(client: AdminClient, wanted: string | undefined): Promise<readonly string[]> {
  if (wanted !== undefined) return [wanted];
  const { queues } = await client.get<{ queues: readonly { id: string; type: string }[] }>('/queues');
  return queues.filter(({ type }) => type === 'push-queue').map(({ id }) => id);
}

export function queueDumpCommand(): Command {
  return withServer(
    new Command('dump')
      .summary('list what waits in the queues of a running Node-RED')
      .description(
        'Shows the oldest records that wait, without their payloads: state, age, attempts, topic, ids.',
      )
      .argument(
        '[queue]',
        "id or name of a queue's node, or what the queue is called; without it, all push queues",
      )
      .addOption(new Option('--limit <n>', 'most records of each queue').default('100'))
      .option('--json', 'print a list of {queue, total, records}', false),
  ).action(async (wanted: string | undefined, { limit, json, ...server }: Flags) => {
    const client = new AdminClient(server);
    const dumps: Waiting[] = [];
    for (const queue of await queuesFor(client, wanted)) {
      dumps.push(await client.get<Waiting>(`/queues/${encodeURIComponent(queue)}/records`, { limit }));
    }
    console.log(json ? JSON.stringify(dumps, null, 2) : dumps.map(asText).join('\n'));
  });
}
