import { remarksOn, type AsyncStores, type Remarks } from '../../flow-graph/flow-graph';
import type { FlowConfigNode, Message, RuntimeNode } from '../../node-red/types';

/**
 * Nodes that may send on after they count as finished: a trigger with a second message, code that sends from a callback,
 * a switch that keeps sequences together. Nothing at run time tells them apart; only their saved properties do.
 */
export class LateSenders {
  private remarks: ReadonlyMap<string, Remarks> = new Map();

  constructor(private readonly asyncStores: AsyncStores | undefined) {}

  learn(flows: readonly FlowConfigNode[]): void {
    const remarks = [...remarksOn(flows, this.asyncStores)];
    this.remarks = new Map(
      remarks.flatMap(([node, remark]) =>
        remark.untrackable === undefined ? [] : [[definitionIdOf(node), remark]],
      ),
    );
  }

  maySendLater(node: RuntimeNode, msg: Message): boolean {
    if (this.remarks.size === 0) return false;
    const remark = this.remarks.get(definitionIdOf(node));
    return remark !== undefined && (!remark.sequencesOnly || isPart(msg));
  }
}

/** Nodes inside a subflow run once per instance, under other ids. */
function definitionIdOf({ id, _alias }: { readonly id: string; readonly _alias?: unknown }): string {
  return typeof _alias === 'string' ? _alias : id;
}

function isPart({ parts }: Message): boolean {
  return typeof parts === 'object' && parts !== null && 'id' in parts && 'index' in parts;
}
