import { choice, text, type Credentials, type Fields } from '../../lib/config/fields';

export interface ClickHouseServerConfig {
  readonly name: string;
  /** Of the HTTP interface; query parameters `ch_<setting>=<value>` are settings of all inserts. */
  readonly url: string;
  readonly database: string;
  /** Id of a `tls-config` node, for https. */
  readonly tls: string;
  /** Of what is sent. */
  readonly compression: 'none' | 'gzip';
}

export const fields: Fields<ClickHouseServerConfig> = {
  name: text(),
  url: text('', {
    required: true,
    pattern: /^https?:\/\/[^\s@/?#]+\/?(?:\?[^\s#]*)?$/i,
  }),
  database: text('default', { required: true }),
  tls: text(),
  compression: choice('none', ['none', 'gzip']),
};

export const credentials: Credentials<'username' | 'password'> = {
  username: { type: 'text' },
  password: { type: 'password' },
};
