/**
 * Running nodes of which nobody can tell when they have finished, as far as the flow JSON doesn't tell: handlers without
 * a completion signal, and whatever is inside packaged subflows.
 */
import { noteOn, remarksOn, type AsyncStores, type ReachNote } from '../flow-graph/flow-graph';
import { insideOfPackage, isOpaque, type InnerNode } from './hooks';
import type { FlowConfigNode, RuntimeNode, RuntimeSettings } from './types';

const LEGACY = 'the node never reports that it has finished';

export class UntrackableNodes {
  constructor(
    private readonly getNode: (id: string) => RuntimeNode | null,
    private readonly asyncStores: AsyncStores,
  ) {}

  /** The node of this id, if it is one, and those inside it. */
  notesAt(id: string): ReachNote[] {
    const node = this.getNode(id);
    if (!node) return [];
    return [
      ...this.notesOn({ node, config: undefined }),
      ...insideOfPackage(node).flatMap((inner) => this.notesOn(inner)),
    ];
  }

  /** Properties of the nodes inside packaged subflows of a flow that runs. */
  packagedConfigs(flows: readonly FlowConfigNode[]): FlowConfigNode[] {
    return flows.flatMap(({ id }) => {
      const node = this.getNode(id);
      return node ? insideOfPackage(node).flatMap(({ config }) => config ?? []) : [];
    });
  }

  private notesOn({ node, config }: InnerNode): ReachNote[] {
    if (isOpaque(node)) return [noteOn(node.id, node, LEGACY)];
    const why = config && remarksOn([config], this.asyncStores).get(config)?.untrackable;
    return why === undefined ? [] : [noteOn(node.id, node, why)];
  }
}

/** Names of the context stores that don't answer at once, as the setting `contextStorage` has them. */
export function asyncStoresOf({ contextStorage }: RuntimeSettings): AsyncStores {
  const stores = Object.entries(contextStorage ?? {});
  const slow = new Set(stores.filter(([, store]) => answersLater(store)).map(([name]) => name));
  const [first] = stores;
  const byDefault = contextStorage?.['default'] ?? first?.[0];
  if (typeof byDefault === 'string' && slow.has(byDefault)) slow.add('default');
  return slow;
}

/** Node-RED's own stores answer from memory, unless the file store is told not to; of others, nobody knows. */
function answersLater(store: unknown): boolean {
  if (typeof store !== 'object' || store === null || !('module' in store)) return false;
  if (store.module === 'memory') return false;
  const config = 'config' in store ? (store.config as { readonly cache?: unknown } | null) : undefined;
  return store.module !== 'localfilesystem' || (config?.cache !== undefined && !config.cache);
}
