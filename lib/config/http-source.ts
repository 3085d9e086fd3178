/** What the HTTP sources (signed webhook, ingest) have in common: how they answer, and what bounds them. */
import { choice, flag, number, text, type Conflict, type Fields } from './fields';

/** One path segment that needs no escaping. `.` and `..` are left out: clients resolve them before they send. */
export const PATH_SEGMENT = /^(?!\.{1,2}$)[A-Za-z0-9._~-]+$/;

export interface HttpSourceConfig {
  /** `on_done` answers with the record's verdict, `on_receipt` as soon as the record is in the durable inbox. */
  respond: 'on_done' | 'on_receipt';
  /** With `on_receipt`: take records into the inbox while a reachable sink is full, for senders that never retry. */
  acceptWhileFull: boolean;
  /** How long an `on_done` request waits for its verdict before it is told to come back. */
  doneTimeoutSecs: number;
  maxBodyKb: number;
  /** Records admitted and not yet settled; one more is refused. */
  maxInFlight: number;
  /** With `on_receipt`: how often a record that failed transiently is run again from the inbox. */
  inboxRetries: number;
  codec: 'json' | 'form' | 'text' | 'buffer';
  /** How long a verdict is remembered for duplicates; 0 turns it off. */
  dedupeHours: number;
  /** Count a record as done when it met nodes that never report completion. */
  treatLegacyAsDone: boolean;
  /** Adds `msg.raw`, the body's bytes as they came in. */
  keepRaw: boolean;
  /** Id of a `sluice-listener`; empty: Node-RED's own server. */
  listener: string;
}

export const httpSourceFields: Fields<HttpSourceConfig> = {
  respond: choice('on_done', ['on_done', 'on_receipt']),
  acceptWhileFull: flag(false),
  doneTimeoutSecs: number(25, { min: 0.1, max: 3600, fraction: true }),
  maxBodyKb: number(1024, { min: 1, max: 1_048_576 }),
  maxInFlight: number(1000, { min: 1, max: 1_000_000 }),
  inboxRetries: number(0, { max: 1000 }),
  codec: choice('json', ['json', 'form', 'text', 'buffer']),
  dedupeHours: number(24, { max: 8760, fraction: true }),
  treatLegacyAsDone: flag(false),
  keepRaw: flag(false),
  listener: text(),
};

/** Rules over several properties that hold for every HTTP source. */
export function httpSourceProblems(config: HttpSourceConfig): Conflict<HttpSourceConfig>[] {
  if (config.acceptWhileFull && config.respond !== 'on_receipt') {
    return [
      {
        property: 'acceptWhileFull',
        key: 'acceptWhileFullNeedsReceipt',
        text: 'works only with respond "on_receipt": on_done has no inbox to keep the record in',
      },
    ];
  }
  return [];
}
