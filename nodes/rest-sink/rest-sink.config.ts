import { choice, number, text, type Conflict, type Credentials, type Fields } from '#lib/config/fields';

export interface RestSinkConfig {
  readonly name: string;
  readonly url: string;
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** One `Name: value` a line. */
  readonly headers: string;
  readonly auth: 'none' | 'basic' | 'bearer';
  /** Id of a `tls-config` node. */
  readonly tls: string;
  /** Id of an `http proxy` node; without one the usual environment variables decide. */
  readonly proxy: string;
  /** For a whole request, from connecting to the last byte of the answer. */
  readonly timeoutMs: number;
  readonly maxResponseKb: number;
  /** Requests under way at a time. */
  readonly concurrency: number;
  /** Records waiting for a request. */
  readonly maxBacklog: number;
  readonly onFull: 'block' | 'evict_oldest';
  /** Records in one request; more than one are sent as a JSON array. */
  readonly batch: number;
  /** Mustache over the record; empty: the payload as it is. One that begins with `{` or `[`, but no tag, is JSON. */
  readonly template: string;
  /** `2xx`, `200, 202`, `2xx, 409`. */
  readonly successCodes: string;
  /** Whether every 4xx is the record's fault, or wrong credentials and addresses keep it. */
  readonly clientErrors: 'kept' | 'permanent';
}

const HEADER_LINES = /^(?:[!#$%&'*+.^`|~\w-]+:[^\r\n]*(?:\r?\n\s*|$))*$/;
const STATUS_CODES = /^[1-5](?:\d\d|xx)(?:\s*,\s*[1-5](?:\d\d|xx))*$/i;

export const fields: Fields<RestSinkConfig> = {
  name: text(),
  url: text('', { required: true, pattern: /^\S+$/ }),
  method: choice('POST', ['POST', 'PUT', 'PATCH', 'DELETE']),
  headers: text('', { pattern: HEADER_LINES }),
  auth: choice('none', ['none', 'basic', 'bearer']),
  tls: text(),
  proxy: text(),
  timeoutMs: number(10_000, { min: 1, max: 3_600_000 }),
  maxResponseKb: number(1024, { max: 102_400 }),
  concurrency: number(8, { min: 1, max: 1024 }),
  maxBacklog: number(1024, { min: 1, max: 1_000_000 }),
  onFull: choice('block', ['block', 'evict_oldest']),
  batch: number(1, { min: 1, max: 10_000 }),
  template: text('', { verbatim: true }),
  successCodes: text('2xx', { pattern: STATUS_CODES }),
  clientErrors: choice('kept', ['kept', 'permanent']),
};

export const credentials: Credentials<'user' | 'password' | 'token'> = {
  user: { type: 'text' },
  password: { type: 'password' },
  token: { type: 'password' },
};

/** Rules over several properties; the runtime refuses to start on one, the form marks it. */
export function problemsOf({ url, batch, maxBacklog }: RestSinkConfig): Conflict<RestSinkConfig>[] {
  const problems: Conflict<RestSinkConfig>[] = [];
  const urlProblem = url === '' ? undefined : problemWithUrl(url);
  if (urlProblem) problems.push({ property: 'url', ...urlProblem });
  if (batch > maxBacklog) {
    const text = 'must not be more than maxBacklog: a batch is made of records that wait';
    problems.push({ property: 'batch', key: 'batchAboveBacklog', text });
  }
  return problems;
}

function problemWithUrl(url: string): Pick<Conflict<RestSinkConfig>, 'key' | 'text'> | undefined {
  const authority = /^https?:\/\/([^/?#]*)/i.exec(url)?.[1];
  if (authority === undefined) return { key: 'urlNeedsScheme', text: 'must begin with http:// or https://' };
  if (authority.includes('@')) {
    return { key: 'urlHasUser', text: 'must not hold user and password: set them as authentication' };
  }
  if (!URL.canParse(url)) return { key: 'urlMalformed', text: 'is not a URL: look at host and port' };
  return undefined;
}

/** Whether a status code counts as delivered, by a `successCodes` text that passed its field. */
export function successTest(successCodes: string): (statusCode: number) => boolean {
  const wanted = successCodes
    .toLowerCase()
    .split(',')
    .map((code) => code.trim());
  return (statusCode) => {
    const text = String(statusCode);
    return wanted.some((code) => code === text || (code.endsWith('xx') && code[0] === text[0]));
  };
}
