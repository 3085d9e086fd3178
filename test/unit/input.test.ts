import { describe, expect, it } from 'vitest';
import { onInput } from '#lib/node-red/input';
import type { Message, RuntimeNode, Send } from '#lib/node-red/types';

type Handle = Parameters<typeof onInput>[1];

/** What `done` was called with, each time, for one message. */
async function dones(handle: Handle): Promise<(Error | undefined)[]> {
  const calls: (Error | undefined)[] = [];
  let receive: ((msg: Message, send: Send, done: (error?: Error) => void) => void) | undefined;
  const node = { on: (_event: 'input', listener: typeof receive) => (receive = listener) };
  onInput(node as unknown as RuntimeNode, handle);
  receive?.(
    {},
    () => {},
    (error) => calls.push(error),
  );
  await new Promise((resolve) => setImmediate(resolve));
  return calls;
}

describe('O1 the input of our own nodes', () => {
  const boom = new Error('boom');
  const thrower = (reason: unknown) => () => {
    throw reason;
  };

  it.each<[string, Handle, (Error | undefined)[]]>([
    ['returns', () => {}, [undefined]],
    ['resolves', () => Promise.resolve(), [undefined]],
    ['throws', thrower(boom), [boom]],
    ['throws text', thrower('text'), [new Error('text')]],
    ['rejects', () => Promise.reject(boom), [boom]],
  ])(
    'completes once, and never lets a rejection end the process, when it %s',
    async (_, handle, expected) => {
      expect(await dones(handle)).toEqual(expected);
    },
  );
});
