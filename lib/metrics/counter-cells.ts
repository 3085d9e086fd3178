import { Counter, type Registry } from 'prom-client';
import type { MetricName } from './names';

interface Cell<Label extends string> {
  readonly labels: Record<Label, string>;
  value: number;
}

/** A counter that costs one map look-up to increment; prom-client sees its values when it is scraped. */
export interface CounterCells {
  /** Adds to a series; 0 makes it exist, so that a rate can be taken from its first increment on. */
  add(records: number, ...values: readonly string[]): void;
}

/**
 * prom-client validates and hashes the label set on each increment, also through `labels()`. At tens of thousands of
 * records a second that shows, so the numbers are kept here and copied at the scrape.
 */
export function counterCells<Label extends string>(
  { name, help, labels, alias }: MetricName<Label>,
  registry: Registry,
  withAlias: boolean,
): CounterCells {
  const cells = new Map<string, Cell<Label>>();
  for (const published of withAlias && alias !== undefined ? [name, alias] : [name]) {
    new Counter<Label>({
      name: published,
      help,
      labelNames: labels,
      registers: [registry],
      collect() {
        this.reset();
        for (const cell of cells.values()) this.inc(cell.labels, cell.value);
      },
    });
  }
  const cellOf = (key: string, values: readonly string[]) => {
    const set = Object.fromEntries(labels.map((label, at) => [label, values[at] ?? ''])) as Record<
      Label,
      string
    >;
    const cell = { labels: set, value: 0 };
    cells.set(key, cell);
    return cell;
  };
  return {
    add(records, ...values) {
      const key = values.length === 1 ? (values[0] ?? '') : values.join('\0');
      (cells.get(key) ?? cellOf(key, values)).value += records;
    },
  };
}
