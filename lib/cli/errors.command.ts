import { Command } from 'commander';
import { AdminClient, withServer, type ServerFlags } from './client';
import { printable, table } from './table';

interface RuleErrors {
  readonly rule_id: string;
  readonly total_errors: number;
  readonly sink_failures: number;
  readonly recent_errors: readonly {
    readonly id: string;
    readonly stage: string;
    readonly error: string;
    readonly timestamp: number;
    readonly node?: { readonly type: string; readonly name?: string; readonly id: string };
  }[];
  readonly [stage: string]: unknown;
}

const STAGES = ['codec_decode', 'schema_validation', 'sql_eval', 'data_template', 'sink_delivery'] as const;

function asText(errors: RuleErrors): string {
  const rows = errors.recent_errors.map(({ id, stage, error, timestamp, node }) => [
    id,
    new Date(timestamp).toISOString(),
    stage,
    node ? node.name || `${node.type} ${node.id}` : '',
    error,
  ]);
  return [
    `${printable(errors.rule_id)}: ${errors.total_errors} errors, ${errors.sink_failures} not sent on`,
    ...STAGES.map((stage) => `  ${stage} ${String(errors[stage])}`),
    ...(rows.length > 0 ? [table(['id', 'time', 'stage', 'node', 'error'], rows)] : ['no recent errors']),
  ].join('\n');
}

interface ErrorsFlags extends ServerFlags {
  readonly clear: boolean;
  readonly json: boolean;
}

/** `errors RULE`, also as `dlq RULE`. */
export function errorsCommand(): Command {
  return withServer(
    new Command('errors')
      .alias('dlq')
      .summary('errors of a rule since the start')
      .description('Counts by stage and the recent errors of a rule: a tab, by its id or label.')
      .argument('<rule>', 'id or label of the tab')
      .option('--clear', 'clear the recent errors; counters and dead letters stay', false)
      .option('--json', 'print the answer of the API', false),
  ).action(async (rule: string, { clear, json, ...server }: ErrorsFlags) => {
    const client = new AdminClient(server);
    const path = `/rules/${encodeURIComponent(rule)}/errors`;
    if (clear) {
      const answer = await client.delete<{ rule_id: string; cleared: number }>(path);
      console.log(
        json
          ? JSON.stringify(answer, null, 2)
          : `${printable(answer.rule_id)}: ${answer.cleared} recent errors cleared`,
      );
      return;
    }
    const errors = await client.get<RuleErrors>(path);
    console.log(json ? JSON.stringify(errors, null, 2) : asText(errors));
  });
}
