import { Gauge, type Registry } from 'prom-client';
import { LEDGER_GAUGES } from './names';

interface Balance {
  readonly name: string;
  readonly difference: number;
}

/** Sources of one name are added up: a label's values are names. */
export function registerLedgerGauge(read: () => readonly Balance[], registry: Registry): void {
  const { name, help, labels } = LEDGER_GAUGES.difference;
  new Gauge({
    name,
    help,
    labelNames: labels,
    registers: [registry],
    collect() {
      this.reset();
      for (const { name: source, difference } of read()) this.inc({ source }, difference);
    },
  });
}
