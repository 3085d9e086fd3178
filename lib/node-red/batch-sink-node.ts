/** What every node that stores records in batches shares: membership in the registry, input, status, alerts, close. */
import { ulid } from 'ulid';
import { BatchSink } from '../batch/batch-sink';
import type { BatchTarget } from '../batch/contract';
import { backlogRowsOf, type BatchSinkConfig } from '../config/batch-sink';
import type { Delivered } from '../delivery/stamp';
import { ConfigError } from '../errors/errors';
import { faultText } from './fault-text';
import { onInput } from './input';
import { runtimeOf } from './runtime';
import { statusLine } from './status';
import type { Message, NodeRED, RuntimeNode, Send } from './types';

const SHOW_INTERVAL_MS = 2000;

/** A message as a row. */
export interface RowOfMessage<Value> {
  readonly value: Value;
  /** Of what goes over the wire. */
  readonly bytes: number;
  /** What tells this row's data from another's: the delivery's id is made from it. */
  readonly identity: Uint8Array;
}

export interface BatchSinkParts<Value> {
  readonly config: BatchSinkConfig;
  /** The sink's name where the node has none. */
  readonly defaultName: string;
  readonly target: BatchTarget<Value>;
  /** Throws a permanent DeliveryError for a message that makes no row. */
  readonly rowOf: (msg: Message) => RowOfMessage<Value>;
}

/**
 * What a server's configuration node offers under `property`. Throws ConfigError for one that isn't there, else what that
 * node itself failed with.
 */
export function serverOf<Server>(RED: NodeRED, id: string, property: string): Server {
  const offered: Readonly<Record<string, unknown>> = { ...RED.nodes.getNode(id) };
  if (offered[property] !== undefined) return offered[property] as Server;
  if (offered['fault'] instanceof Error) throw offered['fault'];
  throw new ConfigError('ERR_SLUICE_CONFIG_INVALID', 'server: the configuration is missing or disabled');
}

/** Starts the node; with a configuration that can't work it shows why in red, and who sends to it keeps the records. */
export function startBatchSink<Value>(
  RED: NodeRED,
  node: RuntimeNode,
  describe: () => BatchSinkParts<Value>,
): void {
  const translate = (key: string) => RED._(key);
  try {
    run(RED, node, describe(), translate);
  } catch (error) {
    node.error(error);
    statusLine(node).show('down', faultText(translate, error));
    onInput(node, () => Promise.reject(error instanceof Error ? error : new Error(String(error))));
  }
}

function run<Value>(
  RED: NodeRED,
  node: RuntimeNode,
  { config, defaultName, target, rowOf }: BatchSinkParts<Value>,
  translate: (key: string) => string,
): void {
  const runtime = runtimeOf(RED);
  const { id, type, z } = node;
  const name = config.name || defaultName;
  const alerts = runtime.alerts.place({ id, name, type, z });
  const options = {
    ...{ id, name, type, z },
    policy: config.onFull,
    maxBacklog: backlogRowsOf(config),
    limits: { rows: config.batchRows, bytes: config.batchBytes, waitMs: config.batchMs },
    isFed: () => runtime.registry.isFed(id),
  };
  const sink = new BatchSink(options, target, runtime.metrics, alerts);
  const unregister = runtime.registry.addSink(sink);
  const line = statusLine(node);

  const show = () => {
    const { level, backlog } = sink.status();
    if (sink.fault) return line.show('down', faultText(translate, sink.fault));
    if (level === 'full') return line.show('down', translate('sluice.sink.full'));
    if (backlog !== 0) return line.show('working', translate('sluice.sink.storing'));
    line.show('ok', translate('sluice.sink.ready'));
  };

  async function deliver(msg: Message, send: Send): Promise<void> {
    const trace = runtime.lineage.traceOf(msg);
    trace?.takeHold(id);
    const { identity, ...row } = rowOf(msg);
    const deliveryId = trace?.deliveryId(id, identity) ?? ulid();
    const resumeTimeout = trace?.pauseTimeout();
    try {
      const delivery = sink.deliver({ ...row, id: deliveryId, source: trace?.stamp.source ?? 'untracked' });
      show();
      await delivery;
      const delivered: Delivered = { sink: name, at: Date.now(), attempts: trace?.stamp.attempt ?? 1 };
      msg['sluice'] = { ...(msg['sluice'] as object | undefined), delivered };
      send(msg);
    } finally {
      resumeTimeout?.();
      show();
    }
  }

  const showing = setInterval(show, SHOW_INTERVAL_MS).unref();
  onInput(node, deliver);
  node.on('close', (_removed, done) => {
    unregister();
    clearInterval(showing);
    alerts.close();
    line.close();
    void sink.close().finally(done);
  });
  show();
}
