import { Command } from 'commander';
import { grafanaDashboard } from '../metrics/grafana-dashboard';
import { withInventory } from './with-inventory';

export function grafanaCommand(): Command {
  const command = new Command('grafana')
    .summary('a Grafana dashboard for what is deployed')
    .description(
      'Prints the JSON of a dashboard with a panel for each queue, source and sink; import it into Grafana.',
    );
  return withInventory(command, (inventory) => JSON.stringify(grafanaDashboard(inventory), null, 2));
}
