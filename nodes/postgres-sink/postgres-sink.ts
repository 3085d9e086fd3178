import { readConfig } from '#lib/config/read-config';
import { messageColumns } from '#lib/node-red/message-columns';
import { serverOf, startBatchSink, type BatchSinkParts } from '#lib/node-red/batch-sink-node';
import type { NodeRED, RuntimeNode } from '#lib/node-red/types';
import type { PostgresServer } from '#lib/postgres/server';
import { fields, problemsOf, type PostgresSinkConfig } from './postgres-sink.config';
import { namesIn, quotedTable } from './postgres-sink.names';
import { bytesOf, identityOf, rowOf, type PostgresRow } from './postgres-sink.row';
import type { Conflict } from './postgres-sink.statements';
import { PostgresTarget } from './postgres-sink.target';

function conflictOf({ keyColumns, onConflict }: PostgresSinkConfig): Conflict | undefined {
  const names = namesIn(keyColumns);
  return names.length === 0 ? undefined : { keyColumns: names, action: onConflict };
}

function describe(RED: NodeRED, saved: object): BatchSinkParts<PostgresRow> {
  const config = readConfig(fields, saved, problemsOf);
  const columns = messageColumns(RED, config.columns);
  const target = new PostgresTarget(serverOf<PostgresServer>(RED, config.server, 'postgres'), {
    table: quotedTable(config.table),
    insertTimeoutMs: config.insertTimeoutMs,
    conflict: conflictOf(config),
    dedup: config.dedup,
  });
  return {
    config,
    defaultName: 'postgres',
    target,
    rowOf(msg) {
      const value = rowOf(msg.payload, columns?.(msg));
      return { value, bytes: bytesOf(value), identity: identityOf(value) };
    },
  };
}

export = function register(RED: NodeRED): void {
  function PostgresSinkNode(this: RuntimeNode, saved: object): void {
    RED.nodes.createNode(this, saved);
    startBatchSink(RED, this, () => describe(RED, saved));
  }
  RED.nodes.registerType('postgres-sink', PostgresSinkNode);
};
