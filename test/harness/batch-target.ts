import { InsertError, type BatchRow, type BatchTarget, type InsertFailure } from '#lib/batch/contract';
import { DeliveryError, type FailureClass } from '#lib/errors/errors';
import { waitFor } from './wait';

interface Call {
  readonly ids: readonly string[];
  readonly token: string;
}

export const failed = (failure: FailureClass, text = failure) =>
  new DeliveryError('ERR_SLUICE_DELIVERY_FAILED', text, { failure });

/** A destination in memory that answers as it is told: by default it stores everything. */
export class MemoryTarget implements BatchTarget<string> {
  readonly calls: Call[] = [];
  readonly stored: string[] = [];
  closed = false;
  /** Decides on the next insert; undefined stores it. */
  answer: (rows: readonly BatchRow<string>[]) => InsertFailure | undefined = () => undefined;
  /** Inserts wait for this. */
  gate: Promise<void> = Promise.resolve();

  async insert(rows: readonly BatchRow<string>[], token: string): Promise<void> {
    this.calls.push({ ids: rows.map(({ id }) => id), token });
    await this.gate;
    if (this.closed) throw new InsertError({ kind: 'unknown', error: failed('transient') });
    const failure = this.answer(rows);
    if (failure) throw new InsertError(failure);
    this.stored.push(...rows.map(({ value }) => value));
  }

  close(): Promise<void> {
    this.closed = true;
    return Promise.resolve();
  }

  /** Refuses batches that hold one of these values, as a database does. */
  refuse(
    bad: ReadonlySet<string>,
    hint: (rows: readonly BatchRow<string>[]) => number | undefined = () => undefined,
  ): void {
    this.answer = (rows) => {
      if (!rows.some(({ value }) => bad.has(value))) return undefined;
      const at = hint(rows);
      return { kind: 'data', error: failed('permanent'), ...(at === undefined ? {} : { hint: at }) };
    };
  }

  called(times: number): Promise<void> {
    return waitFor(`${times} inserts`, () => this.calls.length >= times);
  }
}
