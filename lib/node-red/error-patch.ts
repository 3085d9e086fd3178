/**
 * `node.error()` has no hook, and a handler that throws shows itself nowhere else. So `error` of the prototype that all
 * nodes share is wrapped, once per process: a second copy of this package finds the first one's wrapper and joins it.
 */
import type { RuntimeNode } from './types';

export interface ErrorWatcher {
  /** Sees `node.error(error, msg)` before catch nodes do; what it returns runs after them. */
  raised(node: RuntimeNode, error: unknown, msg: unknown): (() => void) | undefined;
}

type ErrorMethod = (this: RuntimeNode, error: unknown, msg?: unknown, ...rest: unknown[]) => unknown;
interface NodePrototype {
  error: ErrorMethod;
  [WATCHERS]?: Set<ErrorWatcher>;
}

const WATCHERS: unique symbol = Symbol.for('@sluice/node-red/error-watchers');

/** The prototype that owns `_complete`: Node-RED's Node, whatever a node's own class is. */
function basePrototypeOf(node: RuntimeNode): NodePrototype | undefined {
  for (let object: unknown = node; object; object = Object.getPrototypeOf(object)) {
    if (Object.hasOwn(object, '_complete')) return object as NodePrototype;
  }
  return undefined;
}

/** Lets `watcher` see the errors of all nodes; returns its removal, or undefined if Node-RED's prototype isn't found. */
export function watchErrors(
  anyNode: RuntimeNode,
  watcher: ErrorWatcher,
  onFault: (fault: unknown) => void,
): (() => void) | undefined {
  const prototype = basePrototypeOf(anyNode);
  if (!prototype) return undefined;
  const watchers = (prototype[WATCHERS] ??= wrapError(prototype));
  const guarded = guard(watcher, onFault);
  watchers.add(guarded);
  return () => watchers.delete(guarded);
}

/** A watcher's own mistake must not keep a node's error from the catch nodes. */
function guard(watcher: ErrorWatcher, onFault: (fault: unknown) => void): ErrorWatcher {
  const attempt = <Result>(run: () => Result): Result | undefined => {
    try {
      return run();
    } catch (fault) {
      onFault(fault);
      return undefined;
    }
  };
  return {
    raised(node, error, msg) {
      const followUp = attempt(() => watcher.raised(node, error, msg));
      return followUp && (() => attempt(followUp));
    },
  };
}

function wrapError(prototype: NodePrototype): Set<ErrorWatcher> {
  const watchers = new Set<ErrorWatcher>();
  const original = prototype.error;
  prototype.error = function (this: RuntimeNode, ...args: [error: unknown, msg?: unknown]) {
    if (watchers.size === 0) return original.apply(this, args);
    const followUps: ((() => void) | undefined)[] = [];
    for (const watcher of watchers) followUps.push(watcher.raised(this, args[0], args[1]));
    try {
      return original.apply(this, args);
    } finally {
      for (const followUp of followUps) followUp?.();
    }
  };
  return watchers;
}
