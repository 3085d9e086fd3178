import { ConfigError, DeliveryError } from '#lib/errors/errors';
import type { Message } from '#lib/node-red/types';
import { compileTemplate } from '#lib/record/template';
import type { RestSinkConfig } from './rest-sink.config';

export interface RestCredentials {
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly token?: string | undefined;
}

/** What all requests of a node share. Header names are lower case. */
export interface RequestTemplate {
  readonly method: RestSinkConfig['method'];
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A record as it goes over the wire. */
export interface EncodedPayload {
  readonly bytes: Uint8Array;
  readonly contentType: string;
}

/** Set by the sink or by HTTP itself: a second value would contradict the first. */
const RESERVED = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'idempotency-key',
  'keep-alive',
  'proxy-authorization',
  'transfer-encoding',
  'upgrade',
]);

function headerLines(lines: string): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const line of lines.split(/\r?\n/)) {
    const colon = line.indexOf(':');
    if (colon < 1) continue;
    const name = line.slice(0, colon).trim().toLowerCase();
    if (RESERVED.has(name)) {
      throw new ConfigError('ERR_SLUICE_CONFIG_INVALID', `headers: ${name} is set by the node, remove it`);
    }
    headers[name] = line.slice(colon + 1).trim();
  }
  return headers;
}

function authorization(auth: RestSinkConfig['auth'], { user, password, token }: RestCredentials) {
  if (auth === 'none') return {};
  if (auth === 'bearer') {
    if (!token)
      throw new ConfigError('ERR_SLUICE_CONFIG_INVALID', 'token is required for bearer authentication');
    return { authorization: `Bearer ${token}` };
  }
  if (!user) throw new ConfigError('ERR_SLUICE_CONFIG_INVALID', 'user is required for basic authentication');
  return { authorization: `Basic ${Buffer.from(`${user}:${password ?? ''}`).toString('base64')}` };
}

/** Throws ConfigError for a URL, header or credential that can't work. */
export function requestTemplate(config: RestSinkConfig, credentials: RestCredentials): RequestTemplate {
  if (!URL.canParse(config.url)) throw new ConfigError('ERR_SLUICE_CONFIG_INVALID', 'url is not a valid URL');
  const { origin, pathname, search } = new URL(config.url);
  const headers = { ...headerLines(config.headers), ...authorization(config.auth, credentials) };
  return { method: config.method, origin, path: pathname + search, headers };
}

const unsendable = (reason: string, cause?: unknown) =>
  new DeliveryError('ERR_SLUICE_REST_PAYLOAD', `the payload cannot be sent: ${reason}`, {
    failure: 'permanent',
    cause,
  });

function toJson(payload: unknown): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(payload);
  } catch (error) {
    throw unsendable('it has no JSON form (a circular reference or a BigInt)', error);
  }
  if (json === undefined) throw unsendable('it is undefined or a function');
  return json;
}

function asJsonText(bytes: Uint8Array): string {
  const json = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  try {
    JSON.parse(json);
  } catch (error) {
    throw unsendable('a batch is a JSON array, and this Buffer holds no JSON', error);
  }
  return json;
}

/** Buffers go raw, strings as text, all else as JSON. Throws DeliveryError (permanent) for what has no such form. */
export function encodePayload(payload: unknown): EncodedPayload {
  if (payload instanceof Uint8Array) return { bytes: payload, contentType: 'application/octet-stream' };
  if (typeof payload === 'string') {
    return { bytes: Buffer.from(payload), contentType: 'text/plain; charset=utf-8' };
  }
  return { bytes: Buffer.from(toJson(payload)), contentType: 'application/json' };
}

/** One element of a batch: a Buffer must hold JSON and goes as it is, all else is made JSON. Throws like encodePayload. */
export function encodeElement(payload: unknown): EncodedPayload {
  const json = payload instanceof Uint8Array ? asJsonText(payload) : toJson(payload);
  return { bytes: Buffer.from(json), contentType: 'application/json' };
}

const IS_JSON_TEMPLATE = /^\s*(?:\{(?!\{)|\[)/;

/**
 * How a node makes bodies: of a template, else of the payload. Throws ConfigError for a template that isn't closed; the
 * result throws RecordError for a record that can't be written with it, DeliveryError (permanent) for a payload.
 */
export function encoderFor({
  template,
  batch,
}: Pick<RestSinkConfig, 'template' | 'batch'>): (msg: Message) => EncodedPayload {
  if (template === '') {
    const encode = batch > 1 ? encodeElement : encodePayload;
    return ({ payload }) => encode(payload);
  }
  const output = batch > 1 || IS_JSON_TEMPLATE.test(template) ? 'json' : 'string';
  const write = compileTemplate(template, { output, strict: true });
  const contentType = output === 'json' ? 'application/json' : 'text/plain; charset=utf-8';
  return (msg) => ({ bytes: Buffer.from(write(msg.payload, msg).text), contentType });
}

const OPEN = Buffer.from('[');
const COMMA = Buffer.from(',');
const CLOSE = Buffer.from(']');

/** A JSON array of elements that are JSON already. */
export function joinBatch(elements: readonly Uint8Array[]): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const element of elements) parts.push(parts.length === 0 ? OPEN : COMMA, element);
  parts.push(CLOSE);
  return Buffer.concat(parts);
}
