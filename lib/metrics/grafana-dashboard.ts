/** A Grafana dashboard for what is deployed: a gauge for each queue, and how records come in, go out and get lost. */
import { COUNTERS, HISTOGRAMS, QUEUE_GAUGES } from './names';
import type { Watched } from './prometheus-rules';

interface Target {
  readonly expr: string;
  readonly legend: string;
}

interface PanelOptions {
  readonly title: string;
  readonly type: 'timeseries' | 'gauge' | 'stat';
  readonly unit: string;
  readonly targets: readonly Target[];
  readonly width: number;
  readonly height: number;
  /** Value and colour from which on it applies. */
  readonly steps?: readonly (readonly [from: number | null, colour: string])[];
  readonly max?: number;
}

const COLUMNS = 24;
const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };
const FILL_STEPS = [
  [null, 'green'],
  [0.8, 'orange'],
  [1, 'red'],
] as const;

const selector = (label: string, value: string) => `{${label}=${JSON.stringify(value)}}`;
const rate = (name: string, by = '') => `rate(${name}${by}[5m])`;

function queuePanel(queue: string): PanelOptions {
  const by = selector('queue', queue);
  return {
    title: queue,
    type: 'gauge',
    unit: 'percentunit',
    targets: [{ expr: `${QUEUE_GAUGES.fillRatio.name}${by}`, legend: 'filled' }],
    width: 4,
    height: 5,
    steps: FILL_STEPS,
    max: 1,
  };
}

const wide = (title: string, unit: string, ...targets: readonly Target[]): PanelOptions => ({
  title,
  type: 'timeseries',
  unit,
  targets,
  width: 12,
  height: 8,
});

function sinkPanel(sink: string): PanelOptions {
  const by = selector('sink', sink);
  const bucket = `${HISTOGRAMS.deliveryDuration.name}_bucket${by}`;
  return wide(
    `Deliveries of ${sink}`,
    'ops',
    { expr: `sum by (outcome) (${rate(COUNTERS.attempts.name, by)})`, legend: '{{outcome}}' },
    { expr: `histogram_quantile(0.99, sum by (le) (${rate(bucket)}))`, legend: 'p99, seconds' },
  );
}

function sourcePanel(source: string): PanelOptions {
  const by = selector('source', source);
  return wide(
    `Records of ${source}`,
    'ops',
    { expr: rate(COUNTERS.accepted.name, by), legend: 'accepted' },
    { expr: `sum by (sink) (${rate(COUNTERS.refused.name, by)})`, legend: 'refused by {{sink}}' },
  );
}

const general = (): readonly PanelOptions[] => [
  wide('Records waiting', 'short', { expr: QUEUE_GAUGES.records.name, legend: '{{queue}}' }),
  wide('Age of the oldest record', 's', { expr: QUEUE_GAUGES.oldestAge.name, legend: '{{queue}}' }),
  wide('Records lost', 'ops', {
    expr: `sum by (place, reason) (${rate(COUNTERS.dropped.name)})`,
    legend: '{{place}}: {{reason}}',
  }),
  wide('Dead letters', 'ops', {
    expr: `sum by (rule, stage) (${rate(COUNTERS.dlqRecords.name)})`,
    legend: '{{rule}}: {{stage}}',
  }),
];

/** Puts panels side by side, row under row. */
function placed(panels: readonly PanelOptions[]): readonly object[] {
  let x = 0;
  let y = 0;
  let rowHeight = 0;
  return panels.map((panel, index) => {
    if (x + panel.width > COLUMNS) {
      x = 0;
      y += rowHeight;
      rowHeight = 0;
    }
    const gridPos = { x, y, w: panel.width, h: panel.height };
    x += panel.width;
    rowHeight = Math.max(rowHeight, panel.height);
    return panelOf(index + 1, panel, gridPos);
  });
}

function panelOf(
  id: number,
  { title, type, unit, targets, steps, max }: PanelOptions,
  gridPos: object,
): object {
  const thresholds = steps && {
    thresholds: { mode: 'absolute', steps: steps.map(([value, color]) => ({ value, color })) },
  };
  return {
    id,
    title,
    type,
    datasource: DATASOURCE,
    gridPos,
    fieldConfig: {
      defaults: { unit, min: 0, ...(max !== undefined && { max }), ...thresholds },
      overrides: [],
    },
    targets: targets.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode(65 + index),
      datasource: DATASOURCE,
      expr,
      legendFormat: legend,
    })),
  };
}

/** To be imported into Grafana as it is; it asks for the data source. */
export function grafanaDashboard({ queues, sinks, sources }: Watched): object {
  return {
    title: 'Sluice',
    uid: 'sluice',
    tags: ['sluice', 'node-red'],
    schemaVersion: 39,
    timezone: 'browser',
    refresh: '10s',
    time: { from: 'now-1h', to: 'now' },
    templating: { list: [{ name: 'datasource', type: 'datasource', query: 'prometheus' }] },
    panels: placed([
      ...queues.map(queuePanel),
      ...general(),
      ...sources.map(sourcePanel),
      ...sinks.map(sinkPanel),
    ]),
  };
}
