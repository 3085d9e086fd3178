import type { DeliveryError } from '#lib/errors/errors';
import { RowFault } from './clickhouse-sink.json';
import { unfit, type ClickHouseRow, type Scanned } from './clickhouse-sink.row';
import type { RowScanner } from './clickhouse-sink.scan';

export interface Plan {
  /** Rows that can't be stored whatever is tried, by their position. */
  readonly faults: ReadonlyMap<number, DeliveryError>;
  /** Columns that rows name and the table doesn't take. */
  readonly strays: ReadonlySet<string>;
}

/**
 * Looks at each row of a batch. One that names a column which the table doesn't take is at fault itself where other rows
 * do without; where all of them name such a column it is the table that is wrong, and `strays` says so with no fault.
 */
export function planBatch(rows: readonly ClickHouseRow[], scanner: RowScanner): Plan {
  const faults = new Map<number, DeliveryError>();
  const odd = new Map<number, string>();
  rows.forEach((row, index) => {
    const { stray, fault } = scanned(row, scanner);
    if (fault) faults.set(index, fault);
    else if (stray !== undefined) odd.set(index, stray);
  });
  const strays = new Set(odd.values());
  if (odd.size < rows.length) {
    for (const [index, name] of odd) {
      faults.set(index, unfit(`117: the table has no column ${name} that takes a value`));
    }
  }
  return { faults, strays };
}

function scanned(row: ClickHouseRow, scanner: RowScanner): Scanned {
  if (row.scanned?.by !== scanner) row.scanned = scan(row.bytes, scanner);
  return row.scanned;
}

function scan(bytes: Buffer, by: RowScanner): Scanned {
  try {
    return { by, ...by.scan(bytes) };
  } catch (error) {
    if (!(error instanceof RowFault)) throw error;
    const { column, message } = error;
    return { by, fault: unfit(column === undefined ? message : `${column}: ${message}`, error) };
  }
}

const NEWLINE = 0x0a;

/** Rows that were looked at, as JSONEachRow: one after the other, a newline behind each. */
export function joined(rows: readonly ClickHouseRow[]): Buffer {
  const all = rows.map((row) => row.scanned?.bytes ?? row.bytes);
  const body = Buffer.allocUnsafe(all.reduce((length, { length: bytes }) => length + bytes + 1, 0));
  let at = 0;
  for (const bytes of all) {
    body.set(bytes, at);
    at += bytes.length + 1;
    body[at - 1] = NEWLINE;
  }
  return body;
}
