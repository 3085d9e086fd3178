import { readConfig } from '#lib/config/read-config';
import type { ClickHouseServer } from '#lib/clickhouse/server';
import { messageColumns } from '#lib/node-red/message-columns';
import { serverOf, startBatchSink, type BatchSinkParts } from '#lib/node-red/batch-sink-node';
import type { NodeRED, RuntimeNode } from '#lib/node-red/types';
import { fields, problemsOf } from './clickhouse-sink.config';
import { parseTable } from './clickhouse-sink.names';
import { rowOf, type ClickHouseRow } from './clickhouse-sink.row';
import { ClickHouseTarget } from './clickhouse-sink.target';
import type { Deduplication } from './clickhouse-sink.table';

/** What to tell the operator about a table that stores a batch twice when it comes twice. */
function adviceOn(found: Deduplication & { readonly works: false }, table: string): string {
  const consequence = `a batch whose outcome stays unknown can be stored twice in ${table}`;
  switch (found.why) {
    case 'server':
      return `this version of ClickHouse knows no deduplication tokens: ${consequence}`;
    case 'engine':
      return `${table} is no MergeTree table, and keeps no deduplication tokens: ${consequence}`;
    case 'window':
      return `${found.setting} of ${table} is 0: ${consequence}. ALTER TABLE ${table} MODIFY SETTING ${found.setting} = 1000 prevents that`;
  }
}

async function warnOfDuplicates(node: RuntimeNode, target: ClickHouseTarget, table: string): Promise<void> {
  try {
    const found = await target.deduplication();
    if (found && !found.works) node.warn(adviceOn(found, table));
  } catch (error) {
    node.warn(`${table} can't be looked at: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function describe(RED: NodeRED, node: RuntimeNode, saved: object): BatchSinkParts<ClickHouseRow> {
  const config = readConfig(fields, saved, problemsOf);
  const columns = messageColumns(RED, config.columns);
  const { dedup, checkValues, insertTimeoutMs } = config;
  const target = new ClickHouseTarget(serverOf<ClickHouseServer>(RED, config.server, 'clickhouse'), {
    table: parseTable(config.table),
    ...{ insertTimeoutMs, dedup, checkValues },
  });
  void warnOfDuplicates(node, target, config.table);
  return {
    config,
    defaultName: 'clickhouse',
    target,
    rowOf(msg) {
      const value = rowOf(msg.payload, columns?.(msg));
      return { value, bytes: value.bytes.length + 1, identity: value.bytes };
    },
  };
}

export = function register(RED: NodeRED): void {
  function ClickHouseSinkNode(this: RuntimeNode, saved: object): void {
    RED.nodes.createNode(this, saved);
    startBatchSink(RED, this, () => describe(RED, this, saved));
  }
  RED.nodes.registerType('clickhouse-sink', ClickHouseSinkNode);
};
