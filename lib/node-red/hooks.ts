/**
 * Node-RED's messaging hooks and the few internals of a node that tell how it treats a message. Shapes as of 4.1 and
 * 5.0; where an internal is missing, the answer is the careful one (no completion signal, not live).
 */
import type {
  FlowConfigNode,
  HookCompleteEvent,
  HookReceiveEvent,
  HookSendEvent,
  Hooks,
  RuntimeNode,
} from './types';

export interface MessageHooks {
  preRoute(event: HookSendEvent): void;
  preDeliver(event: HookSendEvent): void;
  onReceive(event: HookReceiveEvent): void;
  postReceive(event: HookReceiveEvent): void;
  onComplete(event: HookCompleteEvent): void;
}

/**
 * Adds the five hooks under one label and returns their removal. A hook that throws would stop the message, so a fault
 * goes to `onFault` instead. Each declares exactly one parameter: with any other number Node-RED waits for a callback.
 */
export function installHooks(
  hooks: Hooks,
  label: string,
  handlers: MessageHooks,
  onFault: (fault: unknown) => void,
): () => void {
  const guarded =
    <Event>(handle: (event: Event) => void) =>
    (event: Event): void => {
      try {
        handle(event);
      } catch (fault) {
        onFault(fault);
      }
    };
  hooks.add(
    `preRoute.${label}`,
    guarded((event) => handlers.preRoute(event)),
  );
  hooks.add(
    `preDeliver.${label}`,
    guarded((event) => handlers.preDeliver(event)),
  );
  hooks.add(
    `onReceive.${label}`,
    guarded((event) => handlers.onReceive(event)),
  );
  hooks.add(
    `postReceive.${label}`,
    guarded((event) => handlers.postReceive(event)),
  );
  hooks.add(
    `onComplete.${label}`,
    guarded((event) => handlers.onComplete(event)),
  );
  return () => hooks.remove(`*.${label}`);
}

interface NodeInternals {
  readonly _expectedDoneCount?: number;
  readonly _inputCallback?: unknown;
  readonly _inputCallbacks?: unknown;
  readonly _flow?: FlowInternals;
}

interface FlowInternals {
  getNode?(id: string): unknown;
  getActiveNodes?(): Readonly<Record<string, RuntimeNode | undefined>>;
  /** Of a subflow instance's inside: the node that stands for the instance. */
  readonly node?: unknown;
  readonly flow?: { readonly nodes?: Readonly<Record<string, FlowConfigNode | undefined>> };
}

const internals = (node: RuntimeNode): NodeInternals => node as unknown as NodeInternals;

/** Whether the node has an input handler; a closed node has none. */
export function takesInput(node: RuntimeNode): boolean {
  const { _inputCallback, _inputCallbacks } = internals(node);
  return Boolean(_inputCallback ?? _inputCallbacks);
}

/** Whether a handler of the node takes `done`. The others ("legacy") never tell when they have finished. */
export function signalsCompletion(node: RuntimeNode): boolean {
  return (internals(node)._expectedDoneCount ?? 0) > 0;
}

/**
 * How a node without completion signal works: `sync` sends before its handler returns, `queued` works off a queue of
 * its own, one message per turn of the event loop, `opaque` may send at any time.
 */
export type LegacyKind = 'sync' | 'queued' | 'opaque';

/** Core's rbe/filter and subflow instances only pass on; core's switch queues. */
export function legacyKindOf(node: RuntimeNode): LegacyKind {
  if (node.type === 'rbe' || isSubflowInstance(node)) return 'sync';
  return node.type === 'switch' ? 'queued' : 'opaque';
}

/** Whether nobody can tell when the node has finished with a message: all nodes of most older packages. */
export function isOpaque(node: RuntimeNode): boolean {
  return takesInput(node) && !signalsCompletion(node) && legacyKindOf(node) === 'opaque';
}

/** A running node inside a packaged subflow, with its properties there. */
export interface InnerNode {
  readonly node: RuntimeNode;
  readonly config: FlowConfigNode | undefined;
}

/** What runs inside an instance of a packaged subflow (a module), which the flow JSON doesn't show; else nothing. */
export function insideOfPackage(node: RuntimeNode): InnerNode[] {
  return node.type.startsWith('subflow:') ? [] : insideOf(node);
}

function insideOf(node: RuntimeNode): InnerNode[] {
  const { _flow: flow } = internals(node);
  if (!flow || flow.node !== node) return [];
  return Object.values(flow.getActiveNodes?.() ?? {}).flatMap((inner) =>
    inner ? [{ node: inner, config: flow.flow?.nodes?.[inner.id] }, ...insideOf(inner)] : [],
  );
}

const OUTSIDE = new Set(['http request', 'tcp request', 'file', 'exec']);

/** Core nodes that have delivered a message when they send the answer on, whoever is there to take that. */
export function actsOutside(node: RuntimeNode): boolean {
  return OUTSIDE.has(node.type);
}

function isSubflowInstance(node: RuntimeNode): boolean {
  return node.type.startsWith('subflow:') || internals(node)._flow?.node === node;
}

/** Where a message that `source` sends to this id would go now: the same lookup as the router's own. */
export function routeTarget(
  source: RuntimeNode,
  id: string,
  getNode: (id: string) => RuntimeNode | null,
): unknown {
  const flow = internals(source)._flow;
  return flow?.getNode ? flow.getNode(id) : getNode(id);
}
