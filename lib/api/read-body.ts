import type { IncomingMessage } from 'node:http';
import { InputError } from '../errors/errors';
import { BodyBuffer, type BodyBudget } from './body-buffer';

export interface BodyLimits {
  readonly maxBytes: number;
  /** A sender that needs longer than this for its body is cut off. */
  readonly timeoutMs: number;
  readonly budget: BodyBudget;
}

/** How long the rest of a refused body is swallowed, so that the sender can read the answer before a reset. */
const SWALLOW_MS = 10_000;

/**
 * Reads the exact bytes of a request's body and calls back once. Stops at the limit while reading: nothing beyond it
 * is buffered. Errors: InputError with `ERR_SLUICE_BODY_TOO_LARGE`, `_TIMEOUT`, `_BUDGET` or `_INCOMPLETE`.
 * The budget is given back before the callback.
 */
export function readBody(
  req: IncomingMessage,
  { maxBytes, timeoutMs, budget }: BodyLimits,
  callback: (error: InputError | undefined, body: Buffer) => void,
): void {
  const buffer = new BodyBuffer(maxBytes, budget);
  let finished = false;

  const finish = (error?: InputError) => {
    finished = true;
    clearTimeout(timer);
    const body = buffer.take();
    req.off('data', take);
    if (error) swallow(req);
    callback(error, error ? Buffer.alloc(0) : body);
  };
  const take = (piece: Buffer) => {
    if (finished) return;
    if (buffer.size + piece.length > maxBytes) return finish(tooLarge(maxBytes));
    if (buffer.add(piece)) return;
    finish(new InputError('ERR_SLUICE_BODY_BUDGET', 'too many request bodies are being read at once'));
  };
  const timer = setTimeout(() => {
    finish(new InputError('ERR_SLUICE_BODY_TIMEOUT', `the body took longer than ${timeoutMs} ms`));
  }, timeoutMs);

  if (Number(req.headers['content-length']) > maxBytes) return finish(tooLarge(maxBytes));
  req.on('data', take);
  req.on('end', () => {
    if (!finished) finish();
  });
  req.on('close', () => {
    // Every request closes in the end: the error is made only where it means something.
    if (finished) return;
    finish(new InputError('ERR_SLUICE_BODY_INCOMPLETE', 'the sender left before the body was complete'));
  });
}

function tooLarge(maxBytes: number): InputError {
  return new InputError('ERR_SLUICE_BODY_TOO_LARGE', `the body is larger than ${maxBytes} bytes`);
}

function swallow(req: IncomingMessage): void {
  if (req.complete || req.destroyed) return;
  req.resume();
  const timer = setTimeout(() => req.destroy(), SWALLOW_MS);
  timer.unref();
  req.on('close', () => clearTimeout(timer));
}
