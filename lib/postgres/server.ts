/**
 * One PostgreSQL server and the connections to it, shared by the nodes that use it. The driver is an optional peer:
 * whoever has no such node needn't install it.
 */
import type { Pool, PoolClient, PoolConfig } from 'pg';
import { Users } from '../batch/users';
import { requireOptional } from '../packages/optional-package';

const PG = { name: 'pg', install: 'pg@8 pg-copy-streams@7', neededFor: 'for PostgreSQL' };
const COPY = { ...PG, name: 'pg-copy-streams' };

/** What a `sluice-postgres-server` node offers to the sinks that name it. */
export interface PostgresServer {
  /** `host:port/database`, for texts: no credentials. */
  readonly address: string;
  /** A connection of the pool. Rejects with the driver's error. */
  connect(): Promise<PoolClient>;
  /** Keeps the pool open until the function it gives is called, also when the server's own node is closed before that. */
  use(): () => void;
}

/** Streams for COPY. Throws ConfigError where they aren't installed. */
export const requireCopyStreams = () => requireOptional<typeof import('pg-copy-streams')>(COPY);

/** A pool of connections; what breaks while idle is only replaced. Throws ConfigError without the driver. */
export class PostgresPool implements PostgresServer {
  readonly address: string;
  readonly #pool: Pool;
  readonly #users = new Users();

  constructor(config: PoolConfig & { readonly host: string; readonly port: number }) {
    const pg = requireOptional<typeof import('pg')>(PG);
    this.address = `${config.host}:${config.port}/${config.database ?? ''}`;
    this.#pool = new pg.Pool({
      connectionTimeoutMillis: 10_000,
      idleTimeoutMillis: 30_000,
      keepAlive: true,
      application_name: 'sluice',
      ...config,
    });
    // Without a listener, an idle connection that the server closes would end the process.
    this.#pool.on('error', () => undefined);
  }

  connect(): Promise<PoolClient> {
    return this.#pool.connect();
  }

  use(): () => void {
    return this.#users.add();
  }

  /** Resolves when all connections are closed; who uses the pool is waited for. */
  async close(): Promise<void> {
    await this.#users.gone();
    await this.#pool.end();
  }
}
