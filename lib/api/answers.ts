import type { IncomingMessage, ServerResponse } from 'node:http';
import { FLOW_RETRY_SECS, refuse, type Refusal } from '../delivery/admission';

/** A public answer: what the sender of a record is told. */
export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

export const done = (id: string): Answer => ({ status: 200, body: { ok: true, result: 'done', id } });
export const accepted = (id: string): Answer => ({ status: 200, body: { ok: true, result: 'accepted', id } });
export const unauthorised: Answer = { status: 401, body: { ok: false, result: 'unauthorized' } };
export const unknownPath: Answer = { status: 404, body: { ok: false, result: 'unknown' } };
export const rejected: Answer = { status: 422, body: { ok: false, result: 'rejected' } };
export const tooLarge: Answer = { status: 413, body: { ok: false, result: 'too_large' } };
export const tooSlow: Answer = { status: 408, body: { ok: false, result: 'too_slow' } };
export const unsupportedType: Answer = { status: 415, body: { ok: false, result: 'unsupported' } };
export const onlyPost: Answer = {
  status: 405,
  body: { ok: false, result: 'method_not_allowed' },
  headers: { allow: 'POST' },
};
export const rawBodyUnavailable: Answer = {
  status: 500,
  body: {
    ok: false,
    error: {
      code: 'ERR_SLUICE_HTTP_RAW_BODY',
      message: 'another middleware read the request body first, so its signature cannot be verified',
    },
  },
};

/** The origin keeps the record and comes back. Key order and names are the contract (O21). */
export function retryLater({ sink, retryAfterSecs, stopped }: Refusal): Answer {
  return {
    status: 503,
    headers: { 'retry-after': String(retryAfterSecs) },
    body: { ok: false, result: stopped ? 'stopped' : 'retry', sink, retry_after_secs: retryAfterSecs },
  };
}

/** No sink is to blame: deploying, timed out, aborted. */
export const flowRetryLater: Answer = retryLater(refuse('flow', FLOW_RETRY_SECS));

/** How long the rest of a refused body is swallowed. */
const SWALLOW_MS = 10_000;

/**
 * Writes an answer once; a response that is already under way or whose client left stays as it is. A sender that is
 * still busy with its body gets the whole answer at once, but the end of the response only with the end of the body:
 * a connection that closes before would be reset, and the answer lost.
 */
export function send(res: ServerResponse, { status, body, headers }: Answer): void {
  if (res.headersSent || res.destroyed) return;
  const text = JSON.stringify(body);
  res.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...headers,
  });
  const { req } = res;
  if (req.complete || req.destroyed || !hasBody(req)) return void res.end(text);
  res.write(text);
  const timer = setTimeout(() => req.destroy(), SWALLOW_MS).unref();
  req.once('close', () => clearTimeout(timer));
  req.once('end', () => {
    if (!res.destroyed) res.end();
  });
  req.resume();
}

function hasBody({ headers }: IncomingMessage): boolean {
  return 'transfer-encoding' in headers || Number(headers['content-length'] ?? 0) > 0;
}
