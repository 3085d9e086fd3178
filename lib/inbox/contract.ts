/**
 * The durable inbox of sources that answer on receipt, and what is remembered of settled requests.
 *
 * A row is in one state: running (memory only; a crash returns it to pending), pending, or parked: its sender was told
 * 200, it can't be handled, and it stays until someone decides. `bytes` counts stored records, not the file.
 * All promises resolve after the commit and reject with StoreError, in which case nothing of the call is stored.
 */
import type { Hold } from '../delivery/contract';

/** What the sender of a settled request was told. */
export type SettledVerdict = 'done' | 'rejected';

/** A body's digest as `digestOf` makes it. */
export type BodyDigest = string;

export interface Settled {
  readonly source: string;
  /** The scheme's id of the request. */
  readonly key: string;
  readonly digest: BodyDigest;
  readonly verdict: SettledVerdict;
  /** Unix ms, kept to the minute, rounded up. */
  readonly expiresAt: number;
}

export interface KnownVerdict {
  readonly digest: BodyDigest;
  readonly verdict: SettledVerdict;
}

export interface InboxEntry {
  readonly source: string;
  readonly key: string;
  readonly record: Uint8Array;
  /** The record is sent as soon as it is stored: attempt 1 is committed with it, and it is running. */
  readonly started: boolean;
  /** Remembered in the same transaction: the sender's repeats get this answer from then on. */
  readonly settled?: Pick<Settled, 'digest' | 'verdict' | 'expiresAt'>;
}

export interface InboxRow {
  readonly id: number;
  readonly source: string;
  readonly key: string;
  /** Unix ms. */
  readonly acceptedAt: number;
  /** Attempts begun since one last ended, in earlier processes too: more than one means that some took the process down. */
  readonly attempts: number;
  readonly record: Uint8Array;
}

export interface ParkedRow extends InboxRow {
  readonly parkedAt: number;
  readonly code: string;
  readonly reason: string;
}

export interface InboxCounts {
  /** Rows not parked, running ones included. */
  readonly pending: number;
  readonly parked: number;
  /** Of both. */
  readonly bytes: number;
  /** Unix ms of the oldest row that isn't parked. */
  readonly oldestAcceptedAt: number | undefined;
}

export interface InboxTotals extends InboxCounts {
  readonly quotaBytes: number;
  /** Records turned away for want of room, since it was opened. */
  readonly refusedTotal: number;
  /** Remembered verdicts in memory, and those forgotten before their time because of the bound. */
  readonly remembered: number;
  readonly forgottenEarlyTotal: number;
  /** Where a damaged file was put; accepted records may be in it. */
  readonly quarantinedFile: string | undefined;
  /** Records that were saved from it and are in this one. */
  readonly salvaged: number;
}

/** A row whose attempts have reached this without a verdict took the process down each time: park it. */
export const MAX_CRASH_ATTEMPTS = 3;

export interface Inbox {
  /** Whether a record of this size fits now, holds included. */
  canTake(bytes: number): boolean;
  /** Keeps room for a record that is still being read or checked. Release it in the turn in which it is accepted. */
  hold(bytes: number): Hold;
  /** Resolves with the row's id once it is durable: only then may the sender be told 200. */
  accept(entry: InboxEntry): Promise<number>;
  /** Counts an attempt and marks the row running. Resolves with the attempt's number; undefined if there is no such row. */
  startAttempt(id: number): Promise<number | undefined>;
  /** The attempt ended and the row stays: a deploy cut it off, or it runs again later. Pending again, none begun. */
  release(id: number): void;
  /** The record is handled: its row is deleted, parked or not. An id that isn't there is ignored. */
  finish(id: number): Promise<void>;
  /** Keeps the row as accepted but not handled. `code` is an error code; both are shown to operators. */
  park(id: number, why: { readonly code: string; readonly reason: string }): Promise<void>;
  /** Makes a parked row pending again, with no attempts spent. */
  unpark(id: number): Promise<void>;
  /** Oldest rows of a source that are neither running nor parked. They stay pending until `startAttempt`. */
  pending(source: string, limit: number): Promise<readonly InboxRow[]>;
  /** Parked rows with an id above `afterId`, oldest first. */
  parked(limit: number, afterId?: number): Promise<readonly ParkedRow[]>;
  /** As of the last commit. */
  countsOf(source: string): InboxCounts;
  totals(): InboxTotals;

  /** Known from this call on; durable within a moment, with the next commit. */
  remember(settled: Settled): void;
  /** A promise only until the remembered verdicts are loaded after start; it rejects if they can't be. */
  recall(source: string, key: string): KnownVerdict | undefined | Promise<KnownVerdict | undefined>;

  /**
   * Listener for a failed worker or file: `undefined` when it works again. Called at once if it fails now. Returns its
   * removal.
   */
  onHealth(listener: (fault: Error | undefined) => void): () => void;
  /** Waits for what was called before, then lets go of the file. */
  close(): Promise<void>;
}
