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
