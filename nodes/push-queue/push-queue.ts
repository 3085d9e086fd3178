import { readConfig } from '#lib/config/read-config';
import { ConfigError, DeliveryError, SluiceError } from '#lib/errors/errors';
import { faultText } from '#lib/node-red/fault-text';
import { onInput } from '#lib/node-red/input';
import { runtimeOf } from '#lib/node-red/runtime';
import { statusLine } from '#lib/node-red/status';
import type { NodeRED, RuntimeNode } from '#lib/node-red/types';
import type { QueueStore } from '#lib/queue/contract';
import { PushQueue } from '#lib/queue/push-queue';
import { fields, problemsOf, type PushQueueConfig } from './push-queue.config';
import { PushQueueLog } from './push-queue.log';
import { recordOf } from './push-queue.record';
import { PushQueueOutput } from './push-queue.source';
import { statusOf } from './push-queue.status';
import { claimStore, quotaBytesOf } from './push-queue.store';

const TICK_MS = 1000;
const CLOSE_MS = 5000;
const VOLATILE =
  'keeps its records in memory only, at most 16 MB of them, and loses them on a restart: enable it to keep them on disk';

export = function register(RED: NodeRED): void {
  function PushQueueNode(this: RuntimeNode, saved: object) {
    RED.nodes.createNode(this, saved);
    try {
      start(RED, this, configOf(saved));
    } catch (error) {
      // Not registered: the door refuses what would come here, and so does the input.
      statusLine(this).show(
        'down',
        faultText((key) => RED._(key), error),
      );
      RED.log.error(`[push-queue:${this.name || this.id}] ${describe(error)}`);
      onInput(this, () => Promise.reject(error));
    }
  }
  RED.nodes.registerType('push-queue', PushQueueNode);
};

function leftText(queue: string, records: number): string {
  return `${records} records stay in the queue "${queue}" until a push queue has that queue name again`;
}

function describe(error: unknown): string {
  return error instanceof SluiceError ? `${error.code}: ${error.message}` : String(error);
}

function configOf(saved: object): PushQueueConfig {
  const config = readConfig(fields, saved);
  const [problem] = problemsOf(config);
  if (problem) throw new ConfigError('ERR_SLUICE_CONFIG_INVALID', `${problem.property}: ${problem.text}`);
  return config;
}

function start(RED: NodeRED, node: RuntimeNode, config: PushQueueConfig): void {
  const runtime = runtimeOf(RED);
  const { registry, lineage, metrics, settings, deploys, leftBehind } = runtime;
  const name = config.name || 'push';
  const alerts = runtime.alerts.place({
    id: node.id,
    name: config.name || config.queue,
    type: node.type,
    z: node.z,
  });
  const log = new PushQueueLog(name, config.queue, metrics, alerts);
  const claim = claimStore(config, settings, (fault) => {
    if (closing) return;
    queue.fail(fault);
    log.health(fault);
  });
  const queue: PushQueue = new PushQueue({
    id: node.id,
    name,
    type: node.type,
    z: node.z,
    queue: config.queue,
    policy: config.onFull,
    quotaBytes: quotaBytesOf(config),
    onEvicted: (records) => log.evicted(records),
    onTrimmed: (records) => log.trimmed(records),
    onWriteError: (error) => log.storeError(error),
    onHealth: (fault) => log.health(fault),
    deadLetters: () => output.deadLetters,
  });
  const output: PushQueueOutput = new PushQueueOutput({ node, config, queue, runtime, log });
  let closing = false;
  if (!config.enabled) node.warn(`queue ${config.queue} ${VOLATILE}`);
  alerts.watch(queue.alarm, queue.policy);

  const use = async (store: QueueStore) => {
    if (closing) return;
    queue.attach(store);
    log.health(undefined);
    // Order would break if a delivery of the node before this one were still out.
    if (config.ordering !== 'none') await claim.predecessorSettled;
    if (!closing) output.start(store);
  };
  claim.opened.then(use).catch((reason: unknown) => {
    if (closing) return;
    const error = reason instanceof Error ? reason : new Error(String(reason));
    queue.fail(error);
    log.health(error);
  });

  onInput(node, async (msg) => {
    const trace = lineage.traceOf(msg);
    trace?.takeHold(node.id);
    const { record, ...key } = recordOf(msg, trace, queue, Date.now());
    const goOn = trace?.pauseTimeout();
    try {
      const { duplicate } = await queue.offer(record, {
        ...key,
        sentBack: trace?.lease?.queueId === node.id,
      });
      // A record that came here by a catch node is safe now: its error no longer makes it failed.
      trace?.custody();
      if (!duplicate) metrics.recordsDelivered(name);
    } finally {
      goOn?.();
    }
  });

  const line = statusLine(node);
  const translate = (key: string, values?: Readonly<Record<string, unknown>>) => RED._(key, values);
  const show = () => {
    const [mood, text] = statusOf(queue.fault, output.state, queue.status(), output.untrackable);
    line.show(
      mood,
      'fault' in text
        ? faultText(translate, text.fault)
        : translate(`push-queue.status.${text.key}`, text.values),
    );
  };
  show();
  const ticker = setInterval(show, TICK_MS).unref();

  metrics.declareSink(name);
  const place = `queue ${config.queue}`;
  if (config.enabled) leftBehind.takeOver(place);
  const removals = [
    registry.addSink(queue),
    registry.addSource(output),
    metrics.watchQueue(config.queue, () => queue.reading()),
    () => line.close(),
    () => clearInterval(ticker),
  ];

  const close = async (removed: boolean) => {
    closing = true;
    removals.forEach((remove) => remove());
    queue.fail(
      new DeliveryError('ERR_SLUICE_QUEUE_CLOSED', 'The queue is being closed', { failure: 'transient' }),
    );
    await output.close(CLOSE_MS);
    await queue.detach();
    const left = Number(queue.status()['records']);
    // Without a file, the next node gets the records only if it takes the store over.
    const isKept = !config.enabled && !removed && left > 0;
    const otherwise = isKept ? 'linger' : output.inFlight > 0 ? 'when_settled' : 'now';
    alerts.close();
    if (config.enabled && left > 0) leftBehind.leave(place, leftText(config.queue, left));
    await claim.release(output.settled(), (!removed && deploys.underway) || otherwise, (store) => {
      if (!config.enabled) log.discarded(store.counts().records);
    });
  };
  node.on('close', (removed, done) => {
    close(removed).then(done, (error: unknown) => {
      RED.log.error(`[push-queue:${name}] ${describe(error)}`);
      done();
    });
  });
}
