import type { Registry } from '../delivery/registry';
import type { ReachNote } from '../flow-graph/flow-graph';
import type { RuntimeNode } from './types';

/** Tells a source's operator about nodes on its way that can't be followed: in the log once per deploy, and by status. */
export class UntrackedNotice {
  #found: readonly ReachNote[] = [];

  constructor(
    private readonly node: Pick<RuntimeNode, 'id' | 'warn' | 'log'>,
    private readonly registry: Pick<Registry, 'reachOf'>,
    /** The operator has said that such nodes are to be trusted: nothing to worry about then. */
    private readonly isTrusted: boolean,
  ) {}

  /** How many there are that make outcomes unknown. */
  get count(): number {
    return this.isTrusted ? 0 : this.#found.length;
  }

  /** Flows run again. */
  deployed(): void {
    this.#found = this.registry.reachOf(this.node.id)?.untrackable ?? [];
    if (this.#found.length === 0) return;
    const nodes = this.#found.map(describe).join('; ');
    if (this.isTrusted)
      this.node.log(`records count as done when these nodes have returned, as it is set: ${nodes}`);
    else this.node.warn(`the outcome of records is unknown that pass ${nodes}`);
  }
}

function describe({ id, type, name, why }: ReachNote): string {
  return `${type} ${name === undefined ? '' : `"${name}" `}(${id}): ${why}`;
}
