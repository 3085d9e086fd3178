import { readConfig } from '#lib/config/read-config';
import { tlsOptions } from '#lib/node-red/tls-options';
import type { NodeRED, RuntimeNode } from '#lib/node-red/types';
import { PostgresPool, type PostgresServer } from '#lib/postgres/server';
import { credentials, fields } from './sluice-postgres-server.config';

interface PostgresServerNode extends RuntimeNode {
  /** What sinks connect with; missing where the node couldn't start. */
  postgres?: PostgresServer;
  /** Why it couldn't. */
  fault?: unknown;
}

export = function register(RED: NodeRED): void {
  function SluicePostgresServer(this: PostgresServerNode, saved: object): void {
    RED.nodes.createNode(this, saved);
    try {
      const { host, port, database, tls, poolSize } = readConfig(fields, saved);
      const { username, password } = this.credentials ?? {};
      const pool = new PostgresPool({
        host,
        port,
        database,
        max: poolSize,
        ...(username && { user: username }),
        ...(password && { password }),
        ...(tls !== '' && { ssl: tlsOptions(tls, (id) => RED.nodes.getNode(id)) }),
      });
      this.postgres = pool;
      this.on('close', (_removed, done) => void pool.close().finally(done));
    } catch (error) {
      this.fault = error;
      this.error(error);
    }
  }
  RED.nodes.registerType('sluice-postgres-server', SluicePostgresServer, { credentials });
};
