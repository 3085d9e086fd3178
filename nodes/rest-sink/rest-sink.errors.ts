import type { ErrorCode } from '#lib/errors/codes';
import { DeliveryError, type FailureClass } from '#lib/errors/errors';
import { readRetryAfter } from '#lib/delivery/retry';
import type { Answer } from './rest-sink.client';

export interface AnswerPolicy {
  readonly method: string;
  /** Shown in messages: scheme, host and port only, since user, password and query may hold secrets. */
  readonly origin: string;
  /** Shown where the address is wrong: the path without the query. */
  readonly pathname: string;
  readonly isSuccess: (statusCode: number) => boolean;
  readonly clientErrors: 'kept' | 'permanent';
}

interface Rule {
  readonly statuses: readonly number[] | ((statusCode: number) => boolean);
  readonly code: ErrorCode;
  readonly failure: FailureClass;
  readonly advice: string;
}

/** First match wins. */
const RULES: readonly Rule[] = [
  {
    statuses: [401, 403, 407],
    code: 'ERR_SLUICE_REST_UNAUTHORIZED',
    failure: 'config',
    advice: 'check the credentials; the origin keeps the record',
  },
  {
    statuses: [404, 405],
    code: 'ERR_SLUICE_REST_NOT_FOUND',
    failure: 'config',
    advice: 'check URL and method; the origin keeps the record',
  },
  {
    statuses: (status) => status >= 300 && status < 400,
    code: 'ERR_SLUICE_REST_REDIRECTED',
    failure: 'config',
    advice: 'redirects are not followed: enter the final URL; the origin keeps the record',
  },
  {
    statuses: [408, 425, 429],
    code: 'ERR_SLUICE_REST_BUSY',
    failure: 'transient',
    advice: 'the origin keeps the record',
  },
  {
    statuses: (status) => status >= 500 && status < 600,
    code: 'ERR_SLUICE_REST_BUSY',
    failure: 'transient',
    advice: 'the origin keeps the record',
  },
  {
    statuses: (status) => status >= 400 && status < 500,
    code: 'ERR_SLUICE_REST_REJECTED',
    failure: 'permanent',
    advice: 'the destination does not accept this record',
  },
];

const UNEXPECTED: Omit<Rule, 'statuses'> = {
  code: 'ERR_SLUICE_REST_UNEXPECTED',
  failure: 'transient',
  advice: 'add the status to the success codes if it means delivered; the origin keeps the record',
};

const matches = ({ statuses }: Rule, status: number) =>
  typeof statuses === 'function' ? statuses(status) : statuses.includes(status);

/** The failure an answer means, or undefined when it confirms the record. `nowMs` (Unix) is for Retry-After dates. */
export function classifyAnswer(
  { statusCode, headers }: Answer,
  { method, origin, pathname, isSuccess, clientErrors }: AnswerPolicy,
  nowMs: number,
): DeliveryError | undefined {
  if (isSuccess(statusCode)) return undefined;
  const { code, failure, advice } = RULES.find((rule) => matches(rule, statusCode)) ?? UNEXPECTED;
  const isClientError = statusCode >= 400 && statusCode < 500;
  const header = headers['retry-after'];
  const retryAfterMs = readRetryAfter(Array.isArray(header) ? header[0] : header, nowMs);
  const who = code === 'ERR_SLUICE_REST_NOT_FOUND' ? `${method} ${origin}${pathname}` : origin;
  return new DeliveryError(code, `${who} answered ${statusCode}: ${advice}`, {
    failure: isClientError && clientErrors === 'permanent' ? 'permanent' : failure,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

/** Certificate problems as OpenSSL and Node name them: waiting doesn't cure them, an operator must. */
const CERTIFICATE =
  /^(?:CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_(?:GET|VERIFY)_|INVALID_(?:CA|PURPOSE)|HOSTNAME_MISMATCH|PATH_LENGTH_|ERR_TLS_CERT_|UND_ERR_PRX_TLS|ERR_SSL_\w*(?:CERT|VERSION|UNKNOWN_CA|HANDSHAKE))/;
const TIMEOUTS = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ETIMEDOUT',
]);
const PROXY_REFUSED = /\b(?:407|403|401)\b/;

function systemCode(error: unknown, depth = 0): string {
  if (!(error instanceof Error) || depth > 4) return '';
  if ('code' in error && typeof error.code === 'string') return error.code;
  return systemCode(error.cause, depth + 1);
}

/** What a request that got no complete answer means. The destination may have taken the record all the same. */
export function classifyFault(fault: unknown, origin: string): DeliveryError {
  if (fault instanceof DeliveryError) return fault;
  const code = systemCode(fault);
  const detail = code === '' ? '' : ` (${code})`;
  const failed = (error: ErrorCode, failure: FailureClass, text: string) =>
    new DeliveryError(error, text, { failure, cause: fault });
  if (CERTIFICATE.test(code)) {
    const text = `no trusted TLS connection to ${origin}${detail}: check the certificates and the TLS settings`;
    return failed('ERR_SLUICE_REST_TLS', 'config', text);
  }
  if (TIMEOUTS.has(code)) {
    return failed(
      'ERR_SLUICE_REST_TIMEOUT',
      'transient',
      `${origin} did not answer in time: the origin keeps the record`,
    );
  }
  if (fault instanceof Error && /proxy/i.test(fault.message) && PROXY_REFUSED.test(fault.message)) {
    const text = `the proxy refused the way to ${origin}: check its credentials and rules; the origin keeps the record`;
    return failed('ERR_SLUICE_REST_UNAUTHORIZED', 'config', text);
  }
  const text = `no complete answer from ${origin}${detail}: check that it runs and can be reached`;
  return failed('ERR_SLUICE_REST_UNREACHABLE', 'transient', text);
}
