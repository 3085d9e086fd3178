#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import { packageVersion } from '../config/package-version';
import { SluiceError } from '../errors/errors';
import { CheckFailed, EXIT } from './exit-status';
import { errorsCommand } from './errors.command';
import { grafanaCommand } from './grafana.command';
import { healthCommand } from './health.command';
import { queueCommand } from './queue.command';
import { reachCommand } from './reach.command';
import { redriveCommand } from './redrive.command';
import { replayCommand } from './replay.command';
import { rulesCommand } from './rules.command';
import { startCommand } from './start.command';
import { statusCommand } from './status.command';

function program(): Command {
  const sluice = new Command('sluice')
    .description('Looks after Node-RED flows that deliver at least once with Sluice.')
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help for a command')
    .addCommand(errorsCommand())
    .addCommand(grafanaCommand())
    .addCommand(healthCommand())
    .addCommand(queueCommand())
    .addCommand(reachCommand())
    .addCommand(redriveCommand())
    .addCommand(replayCommand())
    .addCommand(rulesCommand())
    .addCommand(startCommand())
    .addCommand(statusCommand())
    .addHelpText(
      'after',
      '\nExit status: 0 ok, 1 the check failed, 2 usage, unreadable file or no connection.',
    );
  const all = [sluice, ...sluice.commands, ...sluice.commands.flatMap(({ commands }) => commands)];
  for (const command of all) command.exitOverride().showHelpAfterError('(--help tells more)');
  return sluice;
}

async function main(args: readonly string[]): Promise<number> {
  try {
    await program().parseAsync(args, { from: 'user' });
    return EXIT.ok;
  } catch (error) {
    // Commander has printed its own message, and help and version end here with 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    if (error instanceof CheckFailed) return EXIT.checkFailed;
    if (!(error instanceof SluiceError)) throw error;
    console.error(`sluice: ${error.message} [${error.code}]`);
    return EXIT.usage;
  }
}

// A reader that has seen enough, such as `head`, is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});
void main(process.argv.slice(2)).then((status) => {
  process.exitCode = status;
});
