/** What a sink that stores records in batches needs of its destination. */
import type { DeliveryError } from '../errors/errors';

/** A record on its way into a batch. */
export interface BatchRow<Value> {
  /** The delivery's id, the same on every retry. */
  readonly id: string;
  readonly value: Value;
  /** Of what goes over the wire. */
  readonly bytes: number;
  /** Name of the record's source, for the count of refusals. */
  readonly source: string;
}

/**
 * Stores rows, all of them or none. Its `insert` rejects with an InsertError; every other error counts as an unknown
 * outcome.
 */
export interface BatchTarget<Value> {
  /**
   * `token` is the same for the same rows in the same order: with it, a destination can tell a repeat. Resolves when the
   * destination has confirmed that the rows are stored.
   */
  insert(rows: readonly BatchRow<Value>[], token: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * What is known after an insert that wasn't confirmed:
 * `rows`: these rows are at fault, by their index, and nothing was stored;
 * `data`: refused for its data, nothing was stored, the rows at fault aren't known (`hint`: the destination's guess);
 * `config`: refused for a reason an operator has to mend, nothing was stored;
 * `transient`: not stored, and may be tried again;
 * `unknown`: may be stored. Only the identical batch may be sent next.
 */
export type InsertFailure =
  | { readonly kind: 'rows'; readonly faults: ReadonlyMap<number, DeliveryError> }
  | { readonly kind: 'data'; readonly error: DeliveryError; readonly hint?: number }
  | { readonly kind: 'config' | 'transient' | 'unknown'; readonly error: DeliveryError };

export class InsertError extends Error {
  constructor(readonly failure: InsertFailure) {
    super(failure.kind === 'rows' ? 'rows can not be stored' : failure.error.message);
    this.name = 'InsertError';
  }
}
