import { number, text, type Credentials, type Fields } from '../../lib/config/fields';

export interface PostgresServerConfig {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly database: string;
  /** Id of a `tls-config` node; without one the connection isn't encrypted. */
  readonly tls: string;
  /** Connections at once, for all nodes that use this server. */
  readonly poolSize: number;
}

export const fields: Fields<PostgresServerConfig> = {
  name: text(),
  host: text('127.0.0.1', { required: true, pattern: /^[^\s/]+$/ }),
  port: number(5432, { min: 1, max: 65_535 }),
  database: text('', { required: true }),
  tls: text(),
  poolSize: number(4, { min: 1, max: 100 }),
};

export const credentials: Credentials<'username' | 'password'> = {
  username: { type: 'text' },
  password: { type: 'password' },
};
