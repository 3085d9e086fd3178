/** What the main thread and the inbox's worker say to each other. */
import type { Fault } from '../sqlite/faults';
import type { InboxCounts, InboxRow, ParkedRow } from './contract';

export interface AcceptOp {
  readonly kind: 'accept';
  readonly id: number;
  readonly source: string;
  readonly key: string;
  readonly acceptedAt: number;
  readonly attempts: number;
  /** Where the record lies in the batch's `records`. */
  readonly start: number;
  readonly end: number;
  readonly settled: Uint32Array | undefined;
}
export type SettleOp =
  | { readonly kind: 'start' | 'release' | 'finish' | 'unpark'; readonly id: number }
  | {
      readonly kind: 'park';
      readonly id: number;
      readonly code: string;
      readonly reason: string;
      readonly at: number;
    };
export type InboxOp = AcceptOp | SettleOp;

/** All that was called in one turn of the event loop. */
export interface CommitBatch {
  readonly kind: 'commit';
  readonly ops: readonly InboxOp[];
  readonly records: ArrayBuffer;
  /** Verdicts to remember, `ENTRY_WORDS` words each. */
  readonly remembered: Uint32Array<ArrayBuffer>;
  /** Remembered verdicts that expire before this Unix minute may be deleted. */
  readonly forgetBefore: number;
}

export type InboxBatch =
  | CommitBatch
  | {
      readonly kind: 'pending';
      readonly source: string;
      readonly limit: number;
      readonly running: ReadonlySet<number>;
    }
  | { readonly kind: 'parked'; readonly limit: number; readonly afterId: number }
  /** A page of remembered verdicts, latest expiry first. */
  | { readonly kind: 'settled'; readonly beforeId: number; readonly fromMinute: number };

export type SourceCounts = InboxCounts & { readonly source: string };

export interface Committed {
  readonly kind: 'committed';
  /** Why nothing of the batch was stored; or, with `acceptFault`, why its accepts alone weren't. */
  readonly fault: Fault | undefined;
  readonly acceptFault: Fault | undefined;
  /** One for each `start` op: the attempt's number, 0 where there is no such row. */
  readonly attempts: readonly number[];
  readonly freedBytes: number;
  /** Of the sources that changed. */
  readonly counts: readonly SourceCounts[];
}

export type InboxReply =
  | Committed
  | { readonly kind: 'failed'; readonly fault: Fault }
  | { readonly kind: 'rows'; readonly rows: readonly InboxRow[] }
  | { readonly kind: 'parkedRows'; readonly rows: readonly ParkedRow[] }
  | {
      readonly kind: 'settledPage';
      readonly entries: Uint32Array<ArrayBuffer>;
      /** Where the next page begins; undefined after the last. */
      readonly nextBeforeId: number | undefined;
    };

export interface InboxHello {
  readonly nextId: number;
  readonly counts: readonly SourceCounts[];
  /** Where a damaged file was put, and how many records were saved from it. */
  readonly quarantined: { readonly file: string; readonly saved: number } | undefined;
}

export interface InboxWorkerData {
  readonly file: string;
  /** The file was found to be damaged: it is set aside without a further look. */
  readonly damaged: boolean;
  readonly now: number;
  readonly maxPages: number | undefined;
  readonly nativeBinding: string | undefined;
  readonly lockWaitMs: number | undefined;
  readonly minFreeBytes: number | undefined;
}
