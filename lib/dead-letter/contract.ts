/**
 * What is kept of a record that can't be delivered, and where.
 *
 * A letter is in one state: open, replaying (claimed by one replay; a crash returns it to open), resolved (delivered
 * after all, or dealt with by hand) or discarded. `bytes` counts what is stored, not the file. All promises resolve
 * after the commit and reject with StoreError, in which case nothing of the call is stored.
 */
import type { FailureClass } from '../errors/errors';
import type { Stage } from '../errors/stages';

export const LETTER_STATES = ['open', 'replaying', 'resolved', 'discarded'] as const;
export type LetterState = (typeof LETTER_STATES)[number];

/** The place of everything that no push queue gave up. */
export const PIPELINE = 'pipeline';

/** Letters of a push queue's own records: what it gave up where no node kept it. */
export const pushPlace = (queue: string): string => `push:${queue}`;

/** Letters of a source that answers on receipt: accepted (200) but not handled. `path` is the source's own. */
export const inboxPlace = (path: string): string => `inbox:${path}`;

/** Public: what output 1 of a dlq node, `GET /sluice/dlq` and the rule's listing show. Empty fields are absent. */
export interface Envelope {
  /** Id of the tab of the node that failed. */
  readonly rule_id: string;
  readonly stage: Stage;
  readonly stage_code: number;
  readonly error: string;
  /** Unix ms of the failure. */
  readonly timestamp: number;
  /** At most 4096 bytes of what came in: text, or base64 where it isn't UTF-8. */
  readonly raw_payload?: string;
  readonly raw_encoding?: 'base64';
  readonly raw_truncated?: true;
  /** The record before the failure, in a form that JSON can say. */
  readonly tuple?: unknown;
  readonly tuple_truncated?: true;
  readonly sink_type?: string;
  readonly record_id?: string;
  /** Name of the source that admitted it. */
  readonly source?: string;
  readonly node?: { readonly id: string; readonly type: string; readonly name?: string };
  readonly error_code?: string;
  readonly class: FailureClass;
  /** Deliveries that had begun. */
  readonly attempts?: number;
  /** Why it can't be replayed, where it can't. */
  readonly not_replayable?: string;
}

/** Where a letter's message goes on when it is replayed. */
export interface ReplayTarget {
  /** Node that failed; the message is its input. */
  readonly node?: string;
  /** Node that admitted the record. */
  readonly source?: string;
  /** Identity of the record's deliveries, so that destinations can recognise them. */
  readonly origin?: string;
  /** Sender's key of the record, part of its stamp. */
  readonly key?: string;
  readonly receivedAt?: number;
}

export interface NewLetter {
  readonly place: string;
  /** A letter with a key that an open letter has already is the same one: it is stored once. */
  readonly key?: string;
  readonly envelope: Envelope;
  /** What of the envelope follows from the record; nothing without it. */
  readonly derived?: { readonly raw: boolean; readonly tuple: boolean };
  readonly target: ReplayTarget;
  /** The message as lib/queue/record-format writes it; empty when it isn't kept. */
  readonly record: Uint8Array;
}

export interface Letter extends Pick<NewLetter, 'place' | 'envelope' | 'target'> {
  readonly id: number;
  readonly state: LetterState;
  readonly replays: number;
  readonly lastReplay: LastReplay | undefined;
  /** Unix ms of the last change of state. */
  readonly changedAt: number;
}

export type LetterWithRecord = Letter & { readonly record: Uint8Array };

export interface LetterFilter {
  readonly rule?: string;
  readonly place?: string;
  readonly state?: LetterState;
  readonly stage?: Stage;
  /** Only letters with a lower id: for the next page. */
  readonly beforeId?: number;
}

/** How the last replay failed, which may be at another node than the first time. */
export interface LastReplay {
  /** Unix ms. */
  readonly at: number;
  readonly error: string;
  readonly error_code: string;
  readonly node_id?: string;
}

export interface Parked {
  readonly id: number;
  /** False for a key that an open letter has: the id is that one's. */
  readonly isNew: boolean;
}

export interface PlaceCounts {
  /** Neither resolved nor discarded. */
  readonly open: number;
  readonly closed: number;
  readonly bytes: number;
  /** Open ones that were deleted for room: lost. */
  readonly trimmedOpenTotal: number;
  readonly trimmedTotal: number;
}

export interface PlaceQuota {
  readonly maxRows: number;
  readonly maxBytes: number;
}

/** Why a rule is stopped. */
export interface Halt {
  readonly rule: string;
  /** Unix ms. */
  readonly at: number;
  readonly cause: Pick<Envelope, 'stage' | 'error' | 'error_code' | 'node'>;
  readonly letterId: number;
}

export interface DeadLetterStore {
  /** Ids grow and are never used again. With `halt` the rule's stop is durable with the letter. */
  park(letter: NewLetter, halt?: Pick<Halt, 'rule' | 'cause'>): Promise<Parked>;
  /** Closes a letter, or ends its replay; false when it isn't in that state, or doesn't exist. A closed one stays closed. */
  change(id: number, from: 'open' | 'replaying', to: LetterState, lastReplay?: LastReplay): Promise<boolean>;
  /** As `change` from open to replaying, counted as a replay. */
  claim(id: number): Promise<boolean>;
  get(id: number): Promise<LetterWithRecord | undefined>;
  /** Newest first. */
  list(filter: LetterFilter, limit: number): Promise<readonly Letter[]>;
  /** Ids of the open letters of a filter that aren't newer than `upToId`, oldest first, behind `afterId`. */
  openIds(filter: LetterFilter, afterId: number, upToId: number, limit: number): Promise<readonly number[]>;
  countOpen(filter: LetterFilter): Promise<number>;
  unhalt(rule: string): Promise<void>;
  /** As of the last commit. */
  halts(): ReadonlyMap<string, Halt>;
  counts(place: string): PlaceCounts;
  places(): readonly string[];
  /** Bound of a place from now on; undefined is the default of its kind. */
  setQuota(place: string, quota: PlaceQuota | undefined): void;
  /**
   * Listener for a failed worker or file: `undefined` when it works again. Called at once if it fails now. Returns its
   * removal.
   */
  onHealth(listener: (fault: Error | undefined) => void): () => void;
  /** Where a damaged file was put, and how many letters were saved from it. */
  readonly quarantined: { readonly file: string; readonly saved: number } | undefined;
  close(): Promise<void>;
}
