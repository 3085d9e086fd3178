import type { DeadLetters } from '#lib/node-red/dead-letters';
import type { Letter, LetterFilter, LetterWithRecord } from '#lib/dead-letter/contract';
import { runtimeOf } from '#lib/node-red/runtime';
import type { FlowNode, RunningNodeRed } from './node-red';

export const deadLettersOf = ({ RED }: RunningNodeRed): DeadLetters => runtimeOf(RED).deadLetters;

/** Newest first. */
export function lettersOf(nodeRed: RunningNodeRed, filter: LetterFilter = {}): Promise<readonly Letter[]> {
  return deadLettersOf(nodeRed).room.letters.use((store) => store.list(filter, 1000));
}

export function letterOf(nodeRed: RunningNodeRed, id: number): Promise<LetterWithRecord | undefined> {
  return deadLettersOf(nodeRed).room.letters.use((store) => store.get(id));
}

/** A dlq node with its output wired to a probe of the same flow, if one is named. */
export function dlq(
  id: string,
  properties: Record<string, unknown> = {},
  to: readonly string[] = [],
): FlowNode {
  return { id, type: 'dlq', z: 'tab', onError: 'dlq', wires: [to], ...properties };
}

/** Passes on what its payload lets pass; `fail: permanent` and the like make it fail as a node of ours does. */
export function step(id: string, to: readonly string[], properties: Record<string, unknown> = {}): FlowNode {
  return { id, type: 'probe-step', z: 'tab', wires: [to], ...properties };
}
