/**
 * Every metric name of this package, with its help text and labels. Names and labels are public API. A label's values
 * are names an operator gave or words from a fixed list, never an id or an error text: series must stay countable.
 */
export interface MetricName<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly Label[];
  /** The name under which one of the documents knows the same series. */
  readonly alias?: string;
}

const named = <const Label extends string>(
  name: string,
  labels: readonly Label[],
  help: string,
  alias?: string,
): MetricName<Label> => ({ name, help, labels, ...(alias === undefined ? {} : { alias }) });

export const COUNTERS = {
  accepted: named('sluice_records_accepted_total', ['source'], 'Records a source took in'),
  refused: named(
    'sluice_records_refused_total',
    ['source', 'sink'],
    'Records a source told their origin to keep, by the sink that had no room',
  ),
  dropped: named('sluice_records_dropped_total', ['place', 'reason'], 'Records lost'),
  suppressed: named('sluice_records_suppressed_total', ['node'], 'Records left out by design'),
  nullified: named(
    'sluice_fields_nullified_total',
    ['node'],
    'Fields set to null because they did not fit the schema',
  ),
  delivered: named('sluice_records_delivered_total', ['sink'], 'Records a sink took custody of'),
  attempts: named(
    'sluice_delivery_attempts_total',
    ['sink', 'outcome'],
    'Deliveries of a record tried, by how they ended',
  ),
  lateSends: named(
    'sluice_late_sends_total',
    ['source'],
    'Messages and errors that a flow produced for a record after it was acknowledged as done',
  ),
  gaps: named(
    'sluice_push_queue_gaps_total',
    ['queue'],
    'Records a push queue deleted to make room',
    'opex_connector_push_queue_gaps_total',
  ),
  alerts: named('sluice_alerts_total', ['level'], 'Alert notices by level'),
  dlqRecords: named(
    'sluice_dlq_records_total',
    ['rule', 'stage'],
    'Records of a rule that went to its dead letters, by the stage that failed',
    'rekuiper_rule_dlq_records_total',
  ),
  dlqSinkFailures: named(
    'sluice_dlq_sink_failures_total',
    ['rule'],
    'Envelopes that the action behind a dlq node failed to take',
  ),
} as const;

export const HISTOGRAMS = {
  deliveryDuration: named(
    'sluice_delivery_duration_seconds',
    ['sink'],
    'Time from sending a record until the destination answered',
  ),
} as const;

export const QUEUE_GAUGES = {
  bytes: named('sluice_queue_bytes', ['queue'], 'Bytes of the records waiting'),
  maxBytes: named('sluice_queue_max_bytes', ['queue'], 'Quota in bytes, 0 where there is none'),
  records: named('sluice_queue_records', ['queue'], 'Records waiting'),
  fillRatio: named('sluice_queue_fill_ratio', ['queue'], 'Bytes waiting as a share of the quota'),
  oldestAge: named('sluice_queue_oldest_record_age_seconds', ['queue'], 'Age of the oldest record waiting'),
  secsToFull: named(
    'sluice_queue_seconds_to_full',
    ['queue'],
    'Time until the queue is full at the rates of the last 30 seconds; absent while it is not filling up',
  ),
  level: named('sluice_queue_level', ['queue'], 'Alert level: 0 ok, 1 high, 2 full'),
} as const;

export const ROUTING_GAUGES = {
  failed: named(
    'sluice_routing_failed_queue',
    [],
    'Records parked by an unexpected failure of the routing',
    'fireflo_routing_failed_queue',
  ),
  retry: named(
    'sluice_routing_retry_queue',
    [],
    'Records that wait for another try after no supplier matched',
    'fireflo_routing_retry_queue',
  ),
} as const;

export const BRIDGE_GAUGES = {
  degraded: named('sluice_bridge_degraded', ['bridge'], '1 while records take a less durable way, else 0'),
} as const;

export const LEDGER_GAUGES = {
  difference: named(
    'sluice_ledger_difference',
    ['source'],
    'Accepted records that are neither delivered nor held nor counted as lost; not 0 for a moment while records move',
  ),
} as const;
