import { Gauge, type Registry } from 'prom-client';
import { BRIDGE_GAUGES, ROUTING_GAUGES, type MetricName } from './names';

/** One supplier's queue. */
export interface WorkerReading {
  readonly id: string;
  readonly name: string;
  /** Records waiting, and the most that may; undefined is no limit. */
  readonly depth: number;
  readonly limit: number | undefined;
}

/** A router at the moment of a scrape. All are numbers of records. */
export interface RouterReading {
  readonly waiting: number;
  readonly limit: number | undefined;
  /** Parked by an unexpected failure of the routing: nobody else knows of them. */
  readonly failed: number;
  /** Waiting for another try after no supplier matched. */
  readonly retry: number;
  readonly workers: readonly WorkerReading[];
}

type Readers<Reading> = ReadonlyMap<string, () => Reading>;

const gauges = (
  { name, help, labels, alias }: MetricName<string>,
  registry: Registry,
  aliases: boolean,
  collect: (gauge: Gauge) => void,
) => {
  for (const published of aliases && alias !== undefined ? [name, alias] : [name]) {
    new Gauge({
      name: published,
      help,
      labelNames: labels,
      registers: [registry],
      collect() {
        this.reset();
        collect(this);
      },
    });
  }
};

/** The gauges of all routers together, at 0 while there is none, and of each bridge. */
export function registerRoutingGauges(
  routers: Readers<RouterReading>,
  bridges: Readers<boolean>,
  registry: Registry,
  aliases: boolean,
): void {
  for (const key of ['failed', 'retry'] as const) {
    gauges(ROUTING_GAUGES[key], registry, aliases, (gauge) => {
      const readings = [...routers.values()].map((read) => read()[key]);
      gauge.set(readings.reduce((total, value) => total + value, 0));
    });
  }
  gauges(BRIDGE_GAUGES.degraded, registry, aliases, (gauge) => {
    for (const [bridge, isDegraded] of bridges) gauge.set({ bridge }, isDegraded() ? 1 : 0);
  });
}
