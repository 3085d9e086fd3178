import { DeliveryError, failureClassOf } from '../errors/errors';
import { mustPassOn } from '../flow-graph/node-types';
import type { Message, RuntimeNode, Send } from './types';

/** Takes what can never work into the dead letters. */
export interface FailureKeeper {
  /** Resolves with the error to complete the message with: the same one, once the failure is kept or counted. */
  failed(node: RuntimeNode, msg: Message, error: Error): Promise<Error>;
}

let keeper: FailureKeeper | undefined;

/** From now on permanent failures of our nodes go there. A Node-RED runtime is one for each process. */
export function keepFailuresIn(runtime: FailureKeeper): void {
  keeper = runtime;
}

const asError = (reason: unknown) => (reason instanceof Error ? reason : new Error(String(reason)));

/**
 * Wires a node's input: `handle` takes custody of the message and resolves, or rejects with what went wrong. The one
 * place where `done` is called, exactly once for each message, so that a rejection can never end the process; and the
 * one where our nodes' permanent failures become dead letters, before anybody hears of them.
 */
export function onInput(node: RuntimeNode, handle: (msg: Message, send: Send) => Promise<void> | void): void {
  node.on('input', (msg, send, done) => {
    const fail = (reason: unknown) => {
      const error = asError(reason);
      if (!keeper || failureClassOf(error) !== 'permanent') return done(error);
      keeper.failed(node, msg, error).then(done, (fault: unknown) => done(asError(fault)));
    };
    try {
      if (mustPassOn(node.type) && isUnwired(node)) return fail(unwired(node));
      const result = handle(msg, send);
      if (!result) return done();
      result.then(() => done(), fail);
    } catch (reason) {
      fail(reason);
    }
  });
}

const isUnwired = ({ wires }: RuntimeNode) => wires.every((targets) => targets.length === 0);

/** Before it is handled: replayed at this node, the record is what came in. */
function unwired({ type }: RuntimeNode): DeliveryError {
  return new DeliveryError(
    'ERR_SLUICE_OUTPUT_UNWIRED',
    `nothing is wired to the output of this ${type}: wire it, then replay the record`,
    { failure: 'permanent' },
  );
}
