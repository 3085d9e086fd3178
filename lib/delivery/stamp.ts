/** `msg.sluice`: set by a source, kept by the lineage; a flow can't forge it. */
export interface Stamp {
  /** Stable across retries and replays: the idempotency key or a ULID. */
  readonly id: string;
  /** Name of the source. */
  readonly source: string;
  /** Unix milliseconds. */
  readonly receivedAt: number;
  /** 1 for the first delivery. */
  readonly attempt: number;
  readonly key?: string;
}

/** `msg.sluice.delivered`: added by a sink to what it sends on once its destination confirmed the record. */
export interface Delivered {
  /** Name of the sink. */
  readonly sink: string;
  /** Unix milliseconds. */
  readonly at: number;
  readonly attempts: number;
}
