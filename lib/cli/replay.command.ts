import { Command, Option } from 'commander';
import { AdminClient, withServer, type ServerFlags } from './client';
import { CheckFailed } from './exit-status';
import { printable } from './table';

interface Replayed {
  readonly ok: boolean;
  readonly id: string;
  readonly state: string;
  readonly error?: { readonly code: string; readonly message: string };
}

interface ReplayFlags extends ServerFlags {
  readonly to?: string;
  readonly json: boolean;
}

/** `replay ID`. */
export function replayCommand(): Command {
  return withServer(
    new Command('replay')
      .summary('send a dead letter again; exit status 1 if it fails again')
      .description('To the node that failed, or from the source that admitted it. The record keeps its id.')
      .argument('<id>', 'id of the dead letter, as `sluice errors RULE` shows it')
      .addOption(new Option('--to <where>', 'where it goes on').choices(['node', 'source']))
      .option('--json', 'print the answer of the API', false),
  ).action(async (id: string, { to, json, ...server }: ReplayFlags) => {
    const path = `/dlq/${encodeURIComponent(id)}/replay`;
    const answer = await new AdminClient(server).post<Replayed>(path, to === undefined ? {} : { to });
    const failed = answer.error && `failed again: ${answer.error.message} (${answer.error.code})`;
    console.log(
      json ? JSON.stringify(answer, null, 2) : printable(`${answer.id} ${failed ?? 'is resolved'}`),
    );
    if (!answer.ok) throw new CheckFailed();
  });
}
