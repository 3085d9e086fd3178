import type { EventEmitter } from 'node:events';
import type { AsyncStores } from '../../flow-graph/flow-graph';
import type { FlowConfigNode, Hooks, RuntimeNode } from '../../node-red/types';
import type { Lineage } from './contract';
import type { Timers } from './timers';

/** A sign of life of a record whose verdict was `done`: what it carries is no longer waited for by anyone. */
export interface LateEvent {
  readonly what: 'send' | 'error';
  /** The node that sent, or that reported the error. */
  readonly nodeId: string;
  readonly sourceId: string;
  readonly recordId: string;
}

export interface LineageDeps {
  readonly hooks: Hooks;
  /** `RED.events` */
  readonly events: EventEmitter;
  readonly getNode: (id: string) => RuntimeNode | null;
  generateId(): string;
  /** A mistake inside the lineage: it is contained, and the attempts it concerns end by timeout. */
  readonly onFault: (fault: unknown) => void;
  readonly asyncStores?: AsyncStores;
  /** Properties of the nodes inside packaged subflows, which the flow JSON doesn't show. */
  readonly packagedConfigs?: (flows: readonly FlowConfigNode[]) => readonly FlowConfigNode[];
  readonly timers?: Timers;
  /** How long the hooks stay after the last verdict; they are too slow to add and remove for each record. */
  readonly lingerMs?: number;
}

/** What the lineage holds at the moment; all zero when it rests. */
export interface LineageCensus {
  readonly attempts: number;
  readonly known: number;
  readonly timeouts: number;
  readonly quietChecks: number;
  readonly pacedNodes: number;
  readonly parked: number;
  readonly aggregated: number;
  readonly hooked: boolean;
}

export interface RuntimeLineage extends Lineage {
  /** Signs of life after `done`, since the start. */
  readonly lateSends: number;
  /** Deliveries that no live node received, since the start. */
  readonly unrouted: number;
  /** Listens for them; returns the removal. */
  onLate(listener: (event: LateEvent) => void): () => void;
  /** Starts to follow deploys; call once. */
  install(): void;
  /** Aborts what is open and takes every hook, patch and listener away. */
  uninstall(): void;
  census(): LineageCensus;
}
