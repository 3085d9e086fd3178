import { ownCodeOf } from '../errors/errors';
import type { Message, RuntimeNode, Send } from './types';

const asError = (reason: unknown) => (reason instanceof Error ? reason : new Error(String(reason)));

/**
 * Wires a node's input: `handle` takes custody of the message and resolves, or rejects with what went wrong. The one
 * place where `done` is called, exactly once for each message, so that a rejection can never end the process.
 */
export function onInput(node: RuntimeNode, handle: (msg: Message, send: Send) => Promise<void> | void): void {
  node.on('input', (msg, send, done) => {
    try {
      const result = handle(msg, send);
      if (!result) return done();
      result.then(
        () => done(),
        (reason: unknown) => done(asError(reason)),
      );
    } catch (reason) {
      done(asError(reason));
    }
  });
}

/** A short text of an error for a node's status: its code without the prefix, else the start of its message. */
export function errorLabel(error: unknown): string {
  return ownCodeOf(error)?.replace(/^ERR_SLUICE_/, '') ?? asError(error).message.slice(0, 20);
}
