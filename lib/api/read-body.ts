import type { IncomingMessage } from 'node:http';
import { InputError } from '../errors/errors';

/** Room for bodies that are being read and not authenticated yet, shared by all sources. Bytes. */
export interface BodyBudget {
  reserve(bytes: number): boolean;
  free(bytes: number): void;
}

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
  const chunks: Buffer[] = [];
  let size = 0;
  let finished = false;

  const finish = (error?: InputError) => {
    finished = true;
    clearTimeout(timer);
    budget.free(size);
    req.off('data', take);
    if (error) swallow(req);
    const [only] = chunks;
    const body = error || !only ? Buffer.alloc(0) : chunks.length === 1 ? only : Buffer.concat(chunks, size);
    callback(error, body);
  };
  const take = (chunk: Buffer) => {
    if (finished) return;
    if (size + chunk.length > maxBytes) return finish(tooLarge(maxBytes));
    if (!budget.reserve(chunk.length)) {
      return finish(
        new InputError('ERR_SLUICE_BODY_BUDGET', 'too many request bodies are being read at once'),
      );
    }
    size += chunk.length;
    chunks.push(chunk);
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
