import { Command } from 'commander';
import type { StatusDocument } from '../api/status-document';
import { AdminClient, withServer, type ServerFlags } from './client';
import { printable, table } from './table';

type Entry = Readonly<Record<string, unknown>>;

const shown = (value: unknown) => (typeof value === 'number' || typeof value === 'string' ? value : '');
const described = ({ type, name }: Entry) => `${String(type)} ${String(name)}`;

function fillOf(sink: Entry): string {
  if (typeof sink['fill_pct'] === 'number') return `${sink['fill_pct']} %`;
  const { backlog, max_backlog: bound } = sink;
  return typeof backlog === 'number' ? `${backlog} of ${String(bound)}` : '';
}

const sinkRow = (sink: Entry) => [
  described(sink),
  shown(sink['level']),
  fillOf(sink),
  shown(sink['records'] ?? sink['backlog']),
  shown(sink['delivered']),
  shown(sink['dropped']),
  shown(sink['blocked']),
  shown(sink['fault']),
];

const sourceRow = (source: Entry) => [
  described(source),
  shown(source['state'] ?? source['respond']),
  shown(source['accepted']),
  shown(source['in_flight']),
  shown(source['backpressured']),
  shown(source['failed']),
  shown(source['rejected']),
  shown(source['fault']),
];

function asText({ ready, sinks, sources, engine, alerts }: StatusDocument): string {
  const parts = [
    ready ? 'flows are running' : 'flows are not running: sources refuse',
    table(
      ['sink', 'level', 'filled', 'waiting', 'delivered', 'dropped', 'blocked', 'fault'],
      sinks.map(sinkRow),
    ),
    table(
      ['source', 'state', 'accepted', 'in flight', 'backpressured', 'failed', 'rejected', 'fault'],
      sources.map(sourceRow),
    ),
    `lost under backpressure: ${engine.stats.backpressure_lost}, late messages: ${engine.stats.late_sends}, unrouted: ${engine.stats.unrouted}`,
    ...alerts.map(({ kind, what, level, place }) =>
      printable(`${level}: ${place.type} ${place.name}: ${kind} ${what}`),
    ),
  ];
  return parts.join('\n');
}

export function statusCommand(): Command {
  return withServer(
    new Command('status')
      .summary('queues, sinks and sources of a running Node-RED')
      .description(
        'Shows how full each queue is, what was delivered, refused and lost, and what is wrong now.',
      )
      .option('--json', 'print the status document', false),
  ).action(async ({ json, ...server }: ServerFlags & { readonly json: boolean }) => {
    const status = await new AdminClient(server).get<StatusDocument>('/api/status');
    console.log(json ? JSON.stringify(status, null, 2) : asText(status));
  });
}
