import { Option, type Command } from 'commander';
import { InputError } from '../errors/errors';

const TIMEOUT_MS = 15_000;
/** Longer answers aren't ours. */
const MAX_MESSAGE = 300;

/** Where Node-RED's admin side is, and who asks. */
export interface ServerFlags {
  readonly url: string;
  readonly token?: string;
}

/** Adds `--url` and `--token`, which all commands have that ask a running Node-RED. */
export function withServer(command: Command): Command {
  return command
    .addOption(
      new Option('--url <url>', "Node-RED's admin side, with its httpAdminRoot")
        .env('SLUICE_URL')
        .default('http://127.0.0.1:1880'),
    )
    .addOption(
      new Option('--token <token>', "an access token of Node-RED, or the settings' readToken").env(
        'SLUICE_TOKEN',
      ),
    );
}

/**
 * The admin API of a running Node-RED. Paths are those of `/sluice/openapi.json`; answers are JSON, as it has them. Rejects
 * with InputError `ERR_SLUICE_CLI_UNREACHABLE` or `ERR_SLUICE_CLI_REFUSED`.
 */
export class AdminClient {
  readonly #root: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor({ url, token }: ServerFlags) {
    this.#root = `${url.replace(/\/+$/, '')}/sluice`;
    this.#headers = { accept: 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) };
  }

  get<Answer>(
    path: string,
    query: Readonly<Record<string, string | number | undefined>> = {},
  ): Promise<Answer> {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) search.set(name, String(value));
    }
    const asked = search.toString();
    return this.#ask('GET', asked === '' ? path : `${path}?${asked}`);
  }

  post<Answer>(path: string, body: unknown = {}): Promise<Answer> {
    return this.#ask('POST', path, body);
  }

  delete<Answer>(path: string): Promise<Answer> {
    return this.#ask('DELETE', path);
  }

  async #ask<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    const url = `${this.#root}${path}`;
    const { status, text } = await this.#fetch(url, method, body);
    const answer = parsed(text);
    if (status === 200 && answer !== undefined) return answer as Answer;
    throw new InputError('ERR_SLUICE_CLI_REFUSED', `${url}: ${reasonFor(status, answer)}`);
  }

  async #fetch(url: string, method: string, body: unknown): Promise<{ status: number; text: string }> {
    try {
      const response = await fetch(url, {
        method,
        redirect: 'manual',
        signal: AbortSignal.timeout(TIMEOUT_MS),
        headers: { ...this.#headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: response.status, text: await response.text() };
    } catch (cause) {
      throw new InputError('ERR_SLUICE_CLI_UNREACHABLE', `no answer from ${url}: ${causeOf(cause)}`, {
        cause,
      });
    }
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function reasonFor(status: number, answer: unknown): string {
  if (typeof answer === 'object' && answer !== null && 'error' in answer) {
    const { error } = answer;
    if (typeof error === 'object' && error !== null && 'message' in error && 'code' in error) {
      return `${String(error.message).slice(0, MAX_MESSAGE)} (${String(error.code).slice(0, MAX_MESSAGE)})`;
    }
  }
  if (status === 401) return 'the token is missing, has expired, or may not do this (401)';
  if (status === 404 || status === 200) return 'no Sluice answers there; the URL must end with httpAdminRoot';
  return `unexpected status ${status}`;
}

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof Error && 'code' in cause) return String(cause.code);
  return error.name === 'TimeoutError' ? `none within ${TIMEOUT_MS / 1000} seconds` : error.message;
}
