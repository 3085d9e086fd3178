/**
 * Why records were lost, the values of `reason` in `sluice_records_dropped_total`. Each has a text under
 * `sluice.alert.loss` and a row in docs/alerts.md.
 */
export const LOSS_REASONS = [
  /** Deleted from a full queue or backlog to make room. */
  'evicted',
  /** In a push queue without a file when it was removed. */
  'queue_off',
  /** A store whose producer can't be told couldn't write. */
  'write_failed',
  /** Given up where nobody could try again. */
  'undelivered',
  /** Unresolved dead letters, deleted because there were more than are kept. */
  'dead_trimmed',
] as const;

export type LossReason = (typeof LOSS_REASONS)[number];
