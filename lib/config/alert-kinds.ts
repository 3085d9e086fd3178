/** What an alert can be about: the choices of an alert node's `kinds`, and `kind` of the alerts it emits. */
export const ALERT_KINDS = [
  /** A bounded queue, backlog or inbox is filling up, full, or has room again. */
  'queue',
  /** Records were lost. */
  'loss',
  /** Records went to the dead letters. */
  'dead',
  /** A store, worker, disk or destination doesn't work. */
  'fault',
  /** Records take a way that promises less than the one that was set up. */
  'degraded',
  /** A rule was stopped by an error. */
  'halted',
  /** The router holds records that it couldn't route. */
  'routing',
  /** A flow went on with records that had been acknowledged. */
  'late',
  /** A source has had no record for too long. */
  'silence',
  /** What came in isn't what went out, is held or was counted as lost. */
  'ledger',
] as const;

export type AlertKind = (typeof ALERT_KINDS)[number];
