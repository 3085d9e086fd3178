import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { inventoryOfFlows } from '#lib/cli/inventory';
import { grafanaDashboard } from '#lib/metrics/grafana-dashboard';
import {
  BRIDGE_GAUGES,
  COUNTERS,
  HISTOGRAMS,
  LEDGER_GAUGES,
  QUEUE_GAUGES,
  ROUTING_GAUGES,
} from '#lib/metrics/names';
import { alertRules, rulesAsYaml } from '#lib/metrics/prometheus-rules';
import { sluice } from '../harness/cli';

const NASTY = 'a"b\\c\nd 😊 {{ $x }}';

const flows = [
  { id: 'T', type: 'tab', label: 'Orders' },
  { id: 'off', type: 'tab', label: 'Off', disabled: true },
  { id: 'W', type: 'signed-webhook', z: 'T', hook: 'orders', wires: [['Q']] },
  { id: 'Q', type: 'push-queue', z: 'T', queue: 'parcels', wires: [['S']] },
  { id: 'N', type: 'push-queue', z: 'T', name: NASTY, queue: 'nasty', wires: [] },
  { id: 'S', type: 'rest-sink', z: 'T', name: 'warehouse', wires: [] },
  { id: 'D', type: 'rest-sink', z: 'T', d: true, wires: [] },
  { id: 'E', type: 'ingest-api', z: 'off', source: 'gone', wires: [] },
];
const inventory = { sources: ['orders'], sinks: ['push', NASTY, 'warehouse'], queues: ['parcels', 'nasty'] };

interface RuleFile {
  readonly groups: readonly {
    readonly rules: readonly { alert: string; expr: string; annotations: { summary: string } }[];
  }[];
}
interface Panel {
  readonly title: string;
  readonly gridPos: { x: number; y: number; w: number; h: number };
  readonly targets: readonly { readonly expr: string }[];
}

const known = new Set(
  [COUNTERS, HISTOGRAMS, QUEUE_GAUGES, ROUTING_GAUGES, BRIDGE_GAUGES, LEDGER_GAUGES]
    .flatMap((table) => Object.values(table))
    .flatMap(({ name }) => [name, `${name}_bucket`]),
);
const withoutStrings = (expr: string) => expr.replace(/"(?:[^"\\]|\\.)*"/g, '""');
const metricsIn = (expr: string) => withoutStrings(expr).match(/sluice_\w+/g) ?? [];
/** Brackets that fit, and strings on one line: what breaks first when a name isn't escaped. */
function expectSound(expr: string): void {
  expect(expr).not.toContain('\n');
  const rest = withoutStrings(expr);
  expect(rest.replaceAll('""', '')).not.toMatch(/["\\]/);
  for (const [open, close] of ['()', '{}', '[]']) {
    expect(rest.split(open ?? '').length).toBe(rest.split(close ?? '').length);
  }
  for (const name of metricsIn(expr)) expect(known).toContain(name);
}

describe('what is there to watch', () => {
  it('is what isn’t disabled in the flow, by the names that are labels in the metrics', () => {
    expect(inventoryOfFlows(flows)).toEqual(inventory);
  });
});

describe('N23 Prometheus’ alert rules', () => {
  const file = () => parse(rulesAsYaml(alertRules(inventory))) as RuleFile;

  it('are YAML that watches each queue, sink and source by metrics that exist', () => {
    const rules = file().groups[0]?.rules ?? [];
    for (const { expr } of rules) expectSound(expr);
    const of = (alert: string) => rules.filter((rule) => rule.alert === alert).map(({ expr }) => expr);
    expect(of('SluiceQueueFull')).toEqual([
      'sluice_queue_level{queue="parcels"} == 2',
      'sluice_queue_level{queue="nasty"} == 2',
    ]);
    expect(of('SluiceSourceRefusing')).toHaveLength(1);
    expect(of('SluiceDestinationMisconfigured')).toHaveLength(3);
    expect(of('SluiceRecordsLost')).toHaveLength(1);
    expect(of('SluiceRoutingFailed')).toEqual(['sluice_routing_failed_queue > 0']);
  });

  it('take a name with quotes, line breaks, emoji and braces as it is', () => {
    const rules = file().groups[0]?.rules ?? [];
    const nasty = rules.find(({ expr }) => expr.includes('a\\"b'));
    expect(nasty?.expr).toContain('sink="a\\"b\\\\c\\nd 😊 {{ $x }}"');
    expect(nasty?.annotations.summary).toContain('{{ "{{" }} $x }}');
  });
});

describe('N23 the Grafana dashboard', () => {
  it('has a panel for each queue, source and sink, side by side without overlaps, by metrics that exist', () => {
    const { panels } = grafanaDashboard(inventory) as { panels: Panel[] };
    const titles = panels.map(({ title }) => title);
    expect(titles).toEqual(
      expect.arrayContaining([
        'parcels',
        'nasty',
        'Records of orders',
        'Deliveries of warehouse',
        'Records lost',
      ]),
    );
    for (const { targets } of panels) for (const { expr } of targets) expectSound(expr);
    for (const [index, { gridPos: a }] of panels.entries()) {
      expect(a.x + a.w).toBeLessThanOrEqual(24);
      for (const { gridPos: b } of panels.slice(index + 1)) {
        const apart = a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y;
        expect(apart).toBe(true);
      }
    }
  });
});

describe('sluice grafana and sluice rules', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-watch-'));
    writeFileSync(join(folder, 'flows.json'), JSON.stringify(flows));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('print what fits a flow file', async () => {
    const grafana = await sluice(['grafana', join(folder, 'flows.json')]);
    expect([grafana.status, JSON.parse(grafana.stdout)]).toEqual([0, grafanaDashboard(inventory)]);
    const rules = await sluice(['rules', join(folder, 'flows.json')]);
    expect([rules.status, rules.stdout]).toEqual([0, `${rulesAsYaml(alertRules(inventory))}\n`]);
  });

  it('exit with 2 for a file that is none, and where nothing runs', async () => {
    expect((await sluice(['rules', join(folder, 'none.json')])).status).toBe(2);
    expect((await sluice(['grafana', '--url', 'http://127.0.0.1:9'])).status).toBe(2);
  });
});
