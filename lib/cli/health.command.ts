import { Command } from 'commander';
import type { HealthDocument } from '../api/health-document';
import { AdminClient, withServer, type ServerFlags } from './client';
import { CheckFailed } from './exit-status';
import { printable, table } from './table';

function asText({ ok, ready, queues, workers, problems, ...routing }: HealthDocument): string {
  const state = ready ? 'not all is well' : 'flows are not running';
  const limits = [...queues, ...workers].map((queue) => [
    queue.name,
    queue.level,
    queue.queue_depth,
    queue.queue_limit ?? queue.queue_limit_bytes,
  ]);
  return [
    ok ? 'all is well' : state,
    ...problems.map(({ kind, what, level, place }) =>
      printable(`  ${level}: ${place.type} ${place.name}: ${kind} ${what}`),
    ),
    table(['queue', 'level', 'depth', 'limit'], limits),
    `router queue ${routing.router_queue}, failed ${routing.routing_failed_queue}, retry ${routing.routing_retry_queue}`,
  ].join('\n');
}

export function healthCommand(): Command {
  return withServer(
    new Command('health')
      .summary('whether all is well; exit status 1 if not')
      .description('Fails while flows are not running and while any alert is open.')
      .option('--json', 'print the health document', false),
  ).action(async ({ json, ...server }: ServerFlags & { readonly json: boolean }) => {
    const health = await new AdminClient(server).get<HealthDocument>('/ops/health');
    console.log(json ? JSON.stringify(health, null, 2) : asText(health));
    if (!health.ok) throw new CheckFailed();
  });
}
