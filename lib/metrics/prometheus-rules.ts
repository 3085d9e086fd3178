/** Prometheus' alert rules for what is deployed: the same conditions as the alert centre's, for whoever watches from outside. */
import { BRIDGE_GAUGES, COUNTERS, LEDGER_GAUGES, QUEUE_GAUGES, ROUTING_GAUGES } from './names';

export interface Watched {
  readonly sources: readonly string[];
  readonly sinks: readonly string[];
  readonly queues: readonly string[];
}

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  /** How long it must be so. */
  readonly for: string;
  readonly severity: 'warning' | 'critical';
  readonly summary: string;
}

/** Escapes of a PromQL string are those of JSON, as far as JSON uses them. */
const selector = (label: string, value: string) => `{${label}=${JSON.stringify(value)}}`;

/** A name in an annotation, which is a template of Go. */
const plain = (name: string) => name.replaceAll('{{', '{{ "{{" }}');

function queueRules(queue: string): readonly AlertRule[] {
  const by = selector('queue', queue);
  return [
    {
      alert: 'SluiceQueueHigh',
      expr: `${QUEUE_GAUGES.level.name}${by} == 1`,
      for: '2m',
      severity: 'warning',
      summary: `Queue ${plain(queue)} is at 80 % of its quota or more: its destination is slow or down`,
    },
    {
      alert: 'SluiceQueueFull',
      expr: `${QUEUE_GAUGES.level.name}${by} == 2`,
      for: '0m',
      severity: 'critical',
      summary: `Queue ${plain(queue)} is full: it refuses or evicts records`,
    },
    {
      alert: 'SluiceQueueFullSoon',
      expr: `${QUEUE_GAUGES.secsToFull.name}${by} < 3600`,
      for: '5m',
      severity: 'warning',
      summary: `Queue ${plain(queue)} will be full within an hour at the present rates`,
    },
    {
      alert: 'SluiceQueueGap',
      expr: `increase(${COUNTERS.gaps.name}${by}[10m]) > 0`,
      for: '0m',
      severity: 'critical',
      summary: `Queue ${plain(queue)} deleted its oldest records to make room: a data gap`,
    },
    {
      alert: 'SluiceQueueMissing',
      expr: `absent(${QUEUE_GAUGES.level.name}${by})`,
      for: '5m',
      severity: 'critical',
      summary: `Queue ${plain(queue)} is not there: Node-RED, its node or the scrape is down`,
    },
  ];
}

function sinkRules(sink: string): readonly AlertRule[] {
  const failing = `${COUNTERS.attempts.name}{sink=${JSON.stringify(sink)},outcome="config"}`;
  return [
    {
      alert: 'SluiceDestinationMisconfigured',
      expr: `increase(${failing}[10m]) > 0`,
      for: '0m',
      severity: 'critical',
      summary: `The destination of ${plain(sink)} refuses address or credentials: records are kept and wait`,
    },
  ];
}

function sourceRules(source: string): readonly AlertRule[] {
  const by = selector('source', source);
  return [
    {
      alert: 'SluiceSourceRefusing',
      expr: `sum(increase(${COUNTERS.refused.name}${by}[10m])) > 0`,
      for: '10m',
      severity: 'warning',
      summary: `Source ${plain(source)} has been telling its senders to keep their records for 10 minutes`,
    },
  ];
}

const GENERAL: readonly AlertRule[] = [
  {
    alert: 'SluiceRecordsLost',
    expr: `sum by (place, reason) (increase(${COUNTERS.dropped.name}[10m])) > 0`,
    for: '0m',
    severity: 'critical',
    summary: 'Records were lost at {{ $labels.place }}: {{ $labels.reason }}',
  },
  {
    alert: 'SluiceDeadLetters',
    expr: `sum by (rule, stage) (increase(${COUNTERS.dlqRecords.name}[10m])) > 0`,
    for: '0m',
    severity: 'warning',
    summary: 'Records of {{ $labels.rule }} went to the dead letters at {{ $labels.stage }}',
  },
  {
    alert: 'SluiceLedgerUnbalanced',
    expr: `min_over_time(${LEDGER_GAUGES.difference.name}[5m]) > 0`,
    for: '0m',
    severity: 'critical',
    summary: 'Records that {{ $labels.source }} accepted are unaccounted for',
  },
  {
    alert: 'SluiceRoutingFailed',
    expr: `${ROUTING_GAUGES.failed.name} > 0`,
    for: '0m',
    severity: 'critical',
    summary: 'Records are parked by a failure of the routing; nobody else knows of them',
  },
  {
    alert: 'SluiceRoutingRetrying',
    expr: `${ROUTING_GAUGES.retry.name} > 100`,
    for: '10m',
    severity: 'warning',
    summary: 'Records wait for a supplier: the routing table does not cover the traffic',
  },
  {
    alert: 'SluiceBridgeDegraded',
    expr: `${BRIDGE_GAUGES.degraded.name} == 1`,
    for: '1m',
    severity: 'critical',
    summary: 'Records take a less durable way: {{ $labels.bridge }} is down',
  },
  {
    alert: 'SluiceLateSends',
    expr: `sum by (source) (increase(${COUNTERS.lateSends.name}[10m])) > 0`,
    for: '0m',
    severity: 'warning',
    summary: 'A flow went on with records of {{ $labels.source }} that had been acknowledged',
  },
];

export function alertRules({ queues, sinks, sources }: Watched): readonly AlertRule[] {
  return [
    ...queues.flatMap(queueRules),
    ...sinks.flatMap(sinkRules),
    ...sources.flatMap(sourceRules),
    ...GENERAL,
  ];
}

/** A rule file. Scalars are written as JSON strings, which YAML reads as they are. */
export function rulesAsYaml(rules: readonly AlertRule[]): string {
  const lines = rules.flatMap((rule) => [
    `      - alert: ${rule.alert}`,
    `        expr: ${JSON.stringify(rule.expr)}`,
    `        for: ${rule.for}`,
    `        labels:`,
    `          severity: ${rule.severity}`,
    `        annotations:`,
    `          summary: ${JSON.stringify(rule.summary)}`,
  ]);
  return ['groups:', '  - name: sluice', '    rules:', ...lines].join('\n');
}
