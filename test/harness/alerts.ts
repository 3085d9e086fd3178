import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { AlertCentre } from '#lib/alert/alert-centre';
import { DEFAULT_LISTENER, type Alert, type ListenerOptions } from '#lib/alert/alert-machine';
import type { Metrics } from '#lib/metrics/metrics';

type Texts = { readonly [key: string]: string | Texts };
const file = resolve(import.meta.dirname, '../../lib/editor/locales/en-US.json');
const texts: Texts = { sluice: JSON.parse(readFileSync(file, 'utf8')) as Texts };

/** As `RED._` does it, with the texts that all nodes share. */
export function translate(key: string, values: Readonly<Record<string, unknown>> = {}): string {
  let found: string | Texts | undefined = texts;
  for (const part of key.split('.')) found = typeof found === 'object' ? found[part] : undefined;
  return typeof found === 'string'
    ? found.replace(/__(\w+?)__/g, (_, name: string) => String(values[name]))
    : key;
}

export interface TestAlerts {
  readonly centre: AlertCentre;
  /** `severity text`, as they were logged. */
  readonly log: string[];
  /** What a listener with the default thresholds was told, or with those given. */
  readonly told: Alert[];
  /** Sets the monotonic clock, in ms. */
  at(nowMs: number): void;
}

/** An alert centre with a clock of its own; what it counts goes to `metrics`, if given. */
export function alertsFor(metrics?: Metrics, options: Partial<ListenerOptions> = {}): TestAlerts {
  let now = 0;
  const log: string[] = [];
  const told: Alert[] = [];
  const centre = new AlertCentre({
    now: () => now,
    wallClock: () => 1_700_000_000_000 + now,
    translate,
    log: (severity, text) => log.push(`${severity} ${text}`),
    raised: (level) => metrics?.alertRaised(level),
    dropped: (place, reason, records) => metrics?.recordsDropped(place, reason, records),
  });
  centre.listen('listener', { ...DEFAULT_LISTENER, ...options }, (alert) => told.push(alert));
  return { centre, log, told, at: (nowMs) => (now = nowMs) };
}
