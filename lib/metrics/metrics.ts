import { Histogram, Registry } from 'prom-client';
import type { Level } from '../alert/levels';
import type { LossReason } from '../alert/losses';
import { STAGES, type Stage } from '../errors/stages';
import { counterCells } from './counter-cells';
import { COUNTERS, HISTOGRAMS } from './names';
import { registerLedgerGauge } from './ledger-gauge';
import { registerRoutingGauges, type RouterReading } from './routing-gauges';
import { registerQueueGauges, type QueueReading } from './queue-gauges';

/** How one delivery of a record ended: its verdict, a failure by its class. */
export type DeliveryOutcome = 'done' | 'transient' | 'permanent' | 'config' | 'unknown' | 'aborted';

const OUTCOMES: readonly DeliveryOutcome[] = [
  'done',
  'transient',
  'permanent',
  'config',
  'unknown',
  'aborted',
];
const LEVELS: readonly Level[] = ['ok', 'high', 'full'];

/** The numbers of one runtime. Names of sources, sinks and queues are their nodes' names, not ids. */
export interface Metrics {
  /** Makes the series of a node exist at 0; call it when the node starts. */
  declareSource(source: string): void;
  declareSink(sink: string): void;

  recordsAccepted(source: string, records?: number): void;
  /** Kept by the origin: not lost. `sink` names what refused. */
  recordsRefused(source: string, sink: string, records?: number): void;
  /** Lost. `place` is the queue or sink that held them. Nodes count it by the alert centre's `lost`. */
  recordsDropped(place: string, reason: LossReason, records?: number): void;
  recordsSuppressed(node: string, records?: number): void;
  /** Fields of records that a schema set to null. */
  fieldsNullified(node: string, fields: number): void;
  recordsDelivered(sink: string, records?: number): void;
  deliveryAttempts(sink: string, outcome: DeliveryOutcome, records?: number): void;
  deliveryDuration(sink: string, seconds: number): void;
  /** A flow went on with a record of this source after its verdict was `done`. */
  lateSend(source: string): void;
  /** Records a push queue evicted; count them as dropped too. */
  queueGaps(queue: string, records?: number): void;
  alertRaised(level: Level): void;
  /** Makes the series of a rule exist at 0, of all five stages; call it for each tab with nodes of ours. */
  declareRule(rule: string): void;
  /** Records that went to the dead letters of a rule. */
  dlqRecords(rule: string, stage: Stage, records?: number): void;
  dlqSinkFailures(rule: string, failures?: number): void;

  /** Publishes a queue's gauges, read at each scrape, until the returned function is called. */
  watchQueue(queue: string, read: () => QueueReading): () => void;

  /** Publishes a router's numbers, here and in the health document, until the returned function is called. */
  watchRouter(id: string, read: () => RouterReading): () => void;
  routers(): readonly RouterReading[];
  /** Publishes how far each source's ledger is from balancing. */
  watchLedger(read: () => readonly { readonly name: string; readonly difference: number }[]): void;
  /** A way that records take instead of a more durable one while that is down. */
  watchBridge(bridge: string, isDegraded: () => boolean): () => void;

  /** Media type of `render`'s text. */
  readonly contentType: string;
  /** All series in Prometheus' text format. */
  render(): Promise<string>;
}

interface MetricsOptions {
  /** Publish the documents' own names too (setting `metricAliases`). */
  readonly aliases?: boolean;
  readonly now?: () => number;
}

/** Made once per runtime, with a registry of its own: other nodes use prom-client's global one. */
export function createMetrics({ aliases = true, now = Date.now }: MetricsOptions = {}): Metrics {
  const registry = new Registry();
  const accepted = counterCells(COUNTERS.accepted, registry, aliases);
  const refused = counterCells(COUNTERS.refused, registry, aliases);
  const dropped = counterCells(COUNTERS.dropped, registry, aliases);
  const suppressed = counterCells(COUNTERS.suppressed, registry, aliases);
  const nullified = counterCells(COUNTERS.nullified, registry, aliases);
  const delivered = counterCells(COUNTERS.delivered, registry, aliases);
  const attempts = counterCells(COUNTERS.attempts, registry, aliases);
  const lateSends = counterCells(COUNTERS.lateSends, registry, aliases);
  const gaps = counterCells(COUNTERS.gaps, registry, aliases);
  const alerts = counterCells(COUNTERS.alerts, registry, aliases);
  const dlqRecords = counterCells(COUNTERS.dlqRecords, registry, aliases);
  const dlqSinkFailures = counterCells(COUNTERS.dlqSinkFailures, registry, aliases);
  const { name, help, labels } = HISTOGRAMS.deliveryDuration;
  const duration = new Histogram({
    name,
    help,
    labelNames: labels,
    // Loopback services answer in milliseconds; the default delivery timeout is 60 s.
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers: [registry],
  });
  const readers = new Map<string, () => QueueReading>();
  registerQueueGauges(readers, registry, now);
  const routers = new Map<string, () => RouterReading>();
  const bridges = new Map<string, () => boolean>();
  registerRoutingGauges(routers, bridges, registry, aliases);
  for (const level of LEVELS) alerts.add(0, level);

  return {
    declareSource(source) {
      accepted.add(0, source);
      lateSends.add(0, source);
    },
    declareSink(sink) {
      delivered.add(0, sink);
      for (const outcome of OUTCOMES) attempts.add(0, sink, outcome);
      duration.zero({ sink });
    },
    recordsAccepted: (source, records = 1) => accepted.add(records, source),
    recordsRefused: (source, sink, records = 1) => refused.add(records, source, sink),
    recordsDropped: (place, reason, records = 1) => dropped.add(records, place, reason),
    recordsSuppressed: (node, records = 1) => suppressed.add(records, node),
    fieldsNullified: (node, fields) => nullified.add(fields, node),
    recordsDelivered: (sink, records = 1) => delivered.add(records, sink),
    deliveryAttempts: (sink, outcome, records = 1) => attempts.add(records, sink, outcome),
    deliveryDuration: (sink, seconds) => duration.observe({ sink }, seconds),
    lateSend: (source) => lateSends.add(1, source),
    queueGaps: (queue, records = 1) => gaps.add(records, queue),
    alertRaised: (level) => alerts.add(1, level),
    declareRule(rule) {
      for (const { label } of Object.values(STAGES)) dlqRecords.add(0, rule, label);
      dlqSinkFailures.add(0, rule);
    },
    dlqRecords: (rule, stage, records = 1) => dlqRecords.add(records, rule, STAGES[stage].label),
    dlqSinkFailures: (rule, failures = 1) => dlqSinkFailures.add(failures, rule),
    watchQueue(queue, read) {
      gaps.add(0, queue);
      return put(readers, queue, read);
    },
    watchRouter: (id, read) => put(routers, id, read),
    routers: () => [...routers.values()].map((read) => read()),
    watchLedger: (read) => registerLedgerGauge(read, registry),
    watchBridge: (bridge, isDegraded) => put(bridges, bridge, isDegraded),
    contentType: registry.contentType,
    render: () => registry.metrics(),
  };
}

/** Keeps a reader until the returned function is called, or a redeployed node has taken its place. */
function put<Read>(readers: Map<string, Read>, key: string, read: Read): () => void {
  readers.set(key, read);
  return () => {
    if (readers.get(key) === read) readers.delete(key);
  };
}
