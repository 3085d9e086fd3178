import { ClickHouseConnection, type ClickHouseServer } from '#lib/clickhouse/server';
import { readConfig } from '#lib/config/read-config';
import { tlsOptions } from '#lib/node-red/tls-options';
import type { NodeRED, RuntimeNode } from '#lib/node-red/types';
import { credentials, fields } from './sluice-clickhouse-server.config';

interface ClickHouseServerNode extends RuntimeNode {
  /** What sinks connect with; missing where the node couldn't start. */
  clickhouse?: ClickHouseServer;
  /** Why it couldn't. */
  fault?: unknown;
}

export = function register(RED: NodeRED): void {
  function SluiceClickHouseServer(this: ClickHouseServerNode, saved: object): void {
    RED.nodes.createNode(this, saved);
    try {
      const { url, database, tls, compression } = readConfig(fields, saved);
      const { username, password } = this.credentials ?? {};
      const connection = new ClickHouseConnection({
        url,
        database,
        username: username || 'default',
        password: password ?? '',
        gzip: compression === 'gzip',
        tls: tlsOptions(tls, (id) => RED.nodes.getNode(id)),
      });
      this.clickhouse = connection;
      this.on('close', (_removed, done) => void connection.close().finally(done));
    } catch (error) {
      this.fault = error;
      this.error(error);
    }
  }
  RED.nodes.registerType('sluice-clickhouse-server', SluiceClickHouseServer, { credentials });
};
