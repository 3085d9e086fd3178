import { Gauge, type Registry } from 'prom-client';
import type { Level } from '../alert/levels';
import { QUEUE_GAUGES } from './names';

/** One bounded queue at the moment of a scrape. */
export interface QueueReading {
  readonly bytes: number;
  /** 0 = no quota. */
  readonly maxBytes: number;
  readonly records: number;
  readonly level: Level;
  /** Until it is full at the present rates; undefined while it isn't filling up. */
  readonly secsToFull?: number | undefined;
  /** Unix ms at which the oldest record waiting was stored. */
  readonly oldestStoredAt: number | undefined;
}

const LEVEL_VALUES: Readonly<Record<Level, number>> = { ok: 0, high: 1, full: 2 };

/** Registers the queue gauges; they read `readers` at the scrape, so a queue that is removed leaves no series behind. */
export function registerQueueGauges(
  readers: ReadonlyMap<string, () => QueueReading>,
  registry: Registry,
  now: () => number,
): void {
  const values: Record<keyof typeof QUEUE_GAUGES, (reading: QueueReading) => number | undefined> = {
    bytes: ({ bytes }) => bytes,
    maxBytes: ({ maxBytes }) => maxBytes,
    records: ({ records }) => records,
    fillRatio: ({ bytes, maxBytes }) => (maxBytes > 0 ? bytes / maxBytes : 0),
    oldestAge: ({ oldestStoredAt }) =>
      oldestStoredAt === undefined ? 0 : Math.max(0, (now() - oldestStoredAt) / 1000),
    secsToFull: ({ secsToFull }) => secsToFull,
    level: ({ level }) => LEVEL_VALUES[level],
  };
  for (const key of Object.keys(values) as (keyof typeof values)[]) {
    const { name, help, labels } = QUEUE_GAUGES[key];
    new Gauge({
      name,
      help,
      labelNames: labels,
      registers: [registry],
      collect() {
        this.reset();
        for (const [queue, read] of readers) {
          const value = values[key](read());
          if (value !== undefined) this.set({ queue }, value);
        }
      },
    });
  }
}
