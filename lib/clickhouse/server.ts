/**
 * One ClickHouse server, shared by the nodes that use it. The client is an optional peer: whoever has no such node needn't
 * install it.
 */
import { Agent } from 'node:https';
import { Readable } from 'node:stream';
import type { ClickHouseClient } from '@clickhouse/client';
import { Users } from '../batch/users';
import { ConfigError } from '../errors/errors';
import { requireOptional } from '../packages/optional-package';

const CLIENT = {
  name: '@clickhouse/client',
  install: '@clickhouse/client@1',
  neededFor: 'to store records in ClickHouse',
} as const;

/** Settings of one statement, by their names at the server. */
export type ClickHouseSettings = Readonly<Record<string, string | number>>;

export interface ClickHouseInsert {
  /** Quoted for SQL, without the format. */
  readonly table: string;
  /** One object a line. */
  readonly rows: Buffer;
  readonly settings: ClickHouseSettings;
  readonly signal: AbortSignal;
}

/** What a `sluice-clickhouse-server` node offers to the sinks that name it. */
export interface ClickHouseServer {
  /** `http://host:port/database`, for texts: no credentials. */
  readonly address: string;
  /** Settings that the operator gave with the URL, by name; they win over those of a sink. */
  readonly ownSettings: ReadonlyMap<string, string>;
  /** Rows of a SELECT, SHOW or DESCRIBE. Rejects with the client's error. */
  query(sql: string, signal: AbortSignal): Promise<Record<string, unknown>[]>;
  /** Resolves when the server has confirmed the rows. Rejects with the client's error. */
  insert(insert: ClickHouseInsert): Promise<void>;
  /** Keeps connections open until the function it gives is called, also when the server's own node is closed before that. */
  use(): () => void;
}

export interface ClickHouseOptions {
  readonly url: string;
  readonly database: string;
  readonly username: string;
  readonly password: string;
  readonly gzip: boolean;
  /** Options for `tls.connect`. */
  readonly tls: Readonly<Record<string, unknown>>;
}

/** Prefixes of query parameters in the URL that the client takes as settings. */
const SETTING = /^(?:clickhouse_setting|ch)_(\w+)$/;
/** Timeouts are the sink's; this one only frees a socket that nobody waits for any more. */
const LONGEST_REQUEST_MS = 3_600_000;
const MAX_SOCKETS = 10;

/** Throws ConfigError without the client, or for a URL that it doesn't take. */
export class ClickHouseConnection implements ClickHouseServer {
  readonly address: string;
  readonly ownSettings: ReadonlyMap<string, string>;
  readonly #client: ClickHouseClient;
  readonly #users = new Users();

  constructor({ url, database, username, password, gzip, tls }: ClickHouseOptions) {
    const client = requireOptional<typeof import('@clickhouse/client')>(CLIENT);
    const { origin, searchParams } = new URL(url);
    this.address = `${origin}/${database}`;
    this.ownSettings = new Map([...searchParams].flatMap(([name, value]) => settingOf(name, value)));
    const hasTls = origin.startsWith('https:') && Object.keys(tls).length > 0;
    try {
      this.#client = client.createClient({
        ...{ url, database, username, password },
        application: 'sluice',
        request_timeout: LONGEST_REQUEST_MS,
        compression: { request: gzip, response: false },
        log: { level: client.ClickHouseLogLevel.OFF },
        ...(hasTls && { http_agent: new Agent({ ...tls, keepAlive: true, maxSockets: MAX_SOCKETS }) }),
      });
    } catch (cause) {
      const text = cause instanceof Error ? cause.message : String(cause);
      throw new ConfigError('ERR_SLUICE_CONFIG_INVALID', `url: ${text}`, { cause });
    }
  }

  async query(sql: string, signal: AbortSignal): Promise<Record<string, unknown>[]> {
    const result = await this.#client.query({ query: sql, format: 'JSONEachRow', abort_signal: signal });
    return result.json<Record<string, unknown>>();
  }

  async insert({ table, rows, settings, signal }: ClickHouseInsert): Promise<void> {
    const { stream } = await this.#client.exec({
      query: `INSERT INTO ${table} FORMAT JSONEachRow`,
      values: Readable.from([rows], { objectMode: false }),
      clickhouse_settings: { ...settings },
      abort_signal: signal,
    });
    // A server that had begun to answer can only report a failure in the body.
    const answer = await textOf(stream);
    if (/^\s*Code: \d+/m.test(answer)) throw new Error(answer);
  }

  use(): () => void {
    return this.#users.add();
  }

  /** Resolves when all connections are closed; who uses them is waited for. */
  async close(): Promise<void> {
    await this.#users.gone();
    await this.#client.close();
  }
}

function settingOf(name: string, value: string): [string, string][] {
  const setting = SETTING.exec(name)?.[1];
  return setting === undefined ? [] : [[setting, value]];
}

async function textOf(stream: Readable): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(Buffer.from(piece as Uint8Array));
  return Buffer.concat(pieces).toString();
}
