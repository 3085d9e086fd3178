import { Command } from 'commander';
import { alertRules, rulesAsYaml } from '../metrics/prometheus-rules';
import { withInventory } from './with-inventory';

export function rulesCommand(): Command {
  const command = new Command('rules')
    .summary("Prometheus' alert rules for what is deployed")
    .description(
      'Prints a rule file for Prometheus: each queue, source and sink, and what must never happen.',
    );
  return withInventory(command, (inventory) => rulesAsYaml(alertRules(inventory)));
}
