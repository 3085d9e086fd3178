import { readConfig } from '#lib/config/read-config';
import { ConfigError } from '#lib/errors/errors';
import { serverOf, startBatchSink, type BatchSinkParts } from '#lib/node-red/batch-sink-node';
import type { Message, NodeRED, RuntimeNode } from '#lib/node-red/types';
import type { PostgresServer } from '#lib/postgres/server';
import { fields, problemsOf, type PostgresSinkConfig } from './postgres-sink.config';
import { namesIn, quotedTable } from './postgres-sink.names';
import { bytesOf, columnSources, identityOf, rowOf, type PostgresRow } from './postgres-sink.row';
import type { Conflict } from './postgres-sink.statements';
import { PostgresTarget } from './postgres-sink.target';

function conflictOf({ keyColumns, onConflict }: PostgresSinkConfig): Conflict | undefined {
  const names = namesIn(keyColumns);
  return names.length === 0 ? undefined : { keyColumns: names, action: onConflict };
}

/** A property of a message, undefined where the way to it ends early. Throws ConfigError for a path that is none. */
function propertyOf(RED: NodeRED, msg: Message, path: string): unknown {
  try {
    return RED.util.getMessageProperty(msg, path);
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'INVALID_EXPR')) return undefined;
    throw new ConfigError('ERR_SLUICE_CONFIG_INVALID', `columns: ${path} is no property: ${cause.message}`, {
      cause,
    });
  }
}

function describe(RED: NodeRED, saved: object): BatchSinkParts<PostgresRow> {
  const config = readConfig(fields, saved, problemsOf);
  const read = (msg: Message, path: string) => propertyOf(RED, msg, path);
  const sources = columnSources(config.columns);
  for (const { path } of sources) read({}, path);
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
      const value = rowOf(msg, sources, read);
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
