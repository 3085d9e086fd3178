import type { Command } from 'commander';
import type { StatusDocument } from '../api/status-document';
import { AdminClient, withServer, type ServerFlags } from './client';
import { readFlowFile } from './flow-file';
import { inventoryOfFlows, inventoryOfStatus, type Inventory } from './inventory';

/** Completes a command that prints something made of what is deployed: in a flow file, else in a running Node-RED. */
export function withInventory(command: Command, print: (inventory: Inventory) => string): Command {
  return withServer(
    command.argument('[flows.json]', "Node-RED's flow file; without it, a running Node-RED is asked"),
  ).action(async (file: string | undefined, server: ServerFlags) => {
    const inventory =
      file === undefined
        ? inventoryOfStatus(await new AdminClient(server).get<StatusDocument>('/api/status'))
        : inventoryOfFlows(readFlowFile(file));
    console.log(print(inventory));
  });
}
