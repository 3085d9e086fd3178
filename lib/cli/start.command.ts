import { Command } from 'commander';
import { AdminClient, withServer, type ServerFlags } from './client';
import { printable } from './table';

/** `start RULE`. */
export function startCommand(): Command {
  return withServer(
    new Command('start')
      .summary('start a rule that an error has stopped')
      .description('The sources that lead to the tab take records again.')
      .argument('<rule>', 'id or label of the tab')
      .option('--json', 'print the answer of the API', false),
  ).action(async (rule: string, { json, ...server }: ServerFlags & { readonly json: boolean }) => {
    const path = `/rules/${encodeURIComponent(rule)}/start`;
    const answer = await new AdminClient(server).post<{ rule_id: string; was_stopped: boolean }>(path);
    const text = answer.was_stopped ? 'runs again' : 'was not stopped';
    console.log(json ? JSON.stringify(answer, null, 2) : `${printable(answer.rule_id)} ${text}`);
  });
}
