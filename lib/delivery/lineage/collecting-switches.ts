import type { FlowConfigNode, Message, RuntimeNode } from '../../node-red/types';

/**
 * The `switch` nodes that keep messages back until their sequence is complete: those that recreate sequences or have a
 * `tail` rule. What they keep isn't worked off in pace, so it can't be tracked. Only the saved flow tells them apart.
 */
export class CollectingSwitches {
  private ids: ReadonlySet<string> = new Set();

  learn(flows: readonly FlowConfigNode[]): void {
    this.ids = new Set(flows.filter(collects).map(({ id }) => id));
  }

  keepsBack(node: RuntimeNode, msg: Message): boolean {
    if (!this.ids.has(node._alias ?? node.id)) return false;
    const { parts } = msg;
    return typeof parts === 'object' && parts !== null && 'id' in parts && 'index' in parts;
  }
}

function collects({ type, repair, rules }: FlowConfigNode): boolean {
  if (type !== 'switch') return false;
  return (
    Boolean(repair) || (Array.isArray(rules) && rules.some((rule: { t?: unknown }) => rule.t === 'tail'))
  );
}
