import { setTimeout as sleep } from 'node:timers/promises';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { RedriveProgress } from '../dead-letter/redrive';
import { STAGES } from '../errors/stages';
import { AdminClient, withServer, type ServerFlags } from './client';
import { CheckFailed } from './exit-status';
import { progressLine } from './progress-line';
import { printable } from './table';

const LOOK_MS = 500;

interface RedriveFlags extends ServerFlags {
  readonly rate?: number;
  readonly stage?: string;
  readonly place?: string;
  readonly to?: string;
  readonly dryRun: boolean;
  readonly json: boolean;
}

function aboveZero(given: string): number {
  const value = Number(given);
  if (value > 0) return value;
  throw new InvalidArgumentError('It must be a number above 0.');
}

const lineOf = ({ state, total, resolved, failed, skipped }: RedriveProgress) =>
  `${state}: ${resolved} of ${total} resolved, ${failed} failed, ${skipped} left alone`;

/** Follows it to its end. */
async function follow(client: AdminClient, first: RedriveProgress, quiet: boolean): Promise<RedriveProgress> {
  const shown = progressLine(quiet);
  let progress = first;
  while (progress.state === 'running') {
    const { total, resolved, failed, skipped } = progress;
    shown.show(resolved + failed + skipped, total, lineOf(progress));
    await sleep(LOOK_MS);
    const answer = await client.get<{ redrive: RedriveProgress | null }>('/dlq/redrive');
    progress = answer.redrive ?? { ...progress, state: 'stopped', error: 'Node-RED was restarted' };
  }
  shown.end();
  return progress;
}

/** `redrive RULE`. */
export function redriveCommand(): Command {
  return withServer(
    new Command('redrive')
      .summary('send the open dead letters of a rule again; exit status 1 if some fail again')
      .description('Oldest first, at a bounded rate. It ends by itself when twenty in a row fail.')
      .argument('<rule>', 'id or label of the tab')
      .addOption(new Option('--rate <n>', 'letters a second, at most (50)').argParser(aboveZero))
      .addOption(new Option('--stage <stage>', 'only those of a stage').choices(Object.keys(STAGES)))
      .option('--place <place>', 'only those of a place: pipeline, push:<queue> or inbox:<path>')
      .addOption(new Option('--to <where>', 'where they go on').choices(['node', 'source']))
      .option('--dry-run', 'only count them', false)
      .option('--json', 'print how it ended as JSON', false),
  ).action(async (rule: string, flags: RedriveFlags) => {
    const { rate, stage, place, to, dryRun, json, ...server } = flags;
    const client = new AdminClient(server);
    const body = { rule, rate, stage, place, to, dry_run: dryRun };
    const answer = await client.post<{ total?: number; redrive?: RedriveProgress }>('/dlq/redrive', body);
    if (!answer.redrive) {
      console.log(
        json ? JSON.stringify(answer, null, 2) : `${answer.total ?? 0} dead letters would be sent again`,
      );
      return;
    }
    const ended = await follow(client, answer.redrive, json);
    const why = ended.error === undefined ? '' : `\n${printable(ended.error)}`;
    console.log(json ? JSON.stringify(ended, null, 2) : lineOf(ended) + why);
    if (ended.state !== 'done' || ended.failed > 0) throw new CheckFailed();
  });
}
