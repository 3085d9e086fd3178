/** What the main thread and the dead-letter store's worker say to each other. */
import type { Fault } from '../sqlite/faults';
import type {
  Halt,
  Letter,
  LetterFilter,
  LetterState,
  LetterWithRecord,
  NewLetter,
  PlaceCounts,
  PlaceQuota,
} from './contract';

export interface ParkOp extends Pick<NewLetter, 'place' | 'key'> {
  readonly kind: 'park';
  readonly id: number;
  readonly rule: string;
  readonly stage: number;
  readonly at: number;
  /** Of envelope and record. */
  readonly bytes: number;
  /** What of the envelope follows from the record: 1 for the raw payload, 2 for the tuple. */
  readonly derived: number;
  /** JSON. */
  readonly envelope: string;
  readonly target: string;
  /** Where the record lies in the batch's `records`. */
  readonly start: number;
  readonly end: number;
  readonly halt: Halt | undefined;
}

export type ChangeOp =
  | {
      readonly kind: 'change';
      readonly id: number;
      readonly from: LetterState;
      readonly to: LetterState;
      readonly at: number;
      /** JSON. */
      readonly lastReplay: string | null;
    }
  | { readonly kind: 'claim'; readonly id: number; readonly at: number }
  | { readonly kind: 'unhalt'; readonly rule: string };

export type Op = ParkOp | ChangeOp;

/** All that was called in one turn of the event loop. */
export interface CommitBatch {
  readonly kind: 'commit';
  readonly ops: readonly Op[];
  readonly records: ArrayBuffer;
  /** Of the places of its letters. */
  readonly quotas: ReadonlyMap<string, PlaceQuota>;
}

export type ReadBatch =
  | { readonly kind: 'get'; readonly id: number }
  | { readonly kind: 'list'; readonly filter: LetterFilter; readonly limit: number }
  | {
      readonly kind: 'openIds';
      readonly filter: LetterFilter;
      readonly afterId: number;
      readonly upToId: number;
      readonly limit: number;
    }
  | { readonly kind: 'countOpen'; readonly filter: LetterFilter };

export type Batch = CommitBatch | ReadBatch;

export type PlaceState = PlaceCounts & { readonly place: string };

export interface Committed {
  readonly kind: 'committed';
  /** Why nothing of the batch was stored; with `parkFault`, why its new letters alone weren't. */
  readonly fault: Fault | undefined;
  readonly parkFault: Fault | undefined;
  /** For each op: the id of the letter parked (an older one's for a key that is known), 1 or 0 for a change. */
  readonly results: readonly number[];
  /** Of the places that changed. */
  readonly places: readonly PlaceState[];
}

export type Reply =
  | Committed
  | { readonly kind: 'failed'; readonly fault: Fault }
  | { readonly kind: 'letter'; readonly letter: LetterWithRecord | undefined }
  | { readonly kind: 'letters'; readonly letters: readonly Letter[] }
  | { readonly kind: 'ids'; readonly ids: readonly number[] }
  | { readonly kind: 'count'; readonly count: number };

export interface Hello {
  readonly nextId: number;
  readonly places: readonly PlaceState[];
  readonly halts: readonly Halt[];
  /** Where a damaged file was put, and how many letters were saved from it. */
  readonly quarantined: { readonly file: string; readonly saved: number } | undefined;
}

export interface WorkerOptions {
  readonly file: string;
  /** The file was found to be damaged: it is set aside without a further look. */
  readonly damaged: boolean;
  /** The worker was lost, not the process: replays that were under way still are. */
  readonly restarted: boolean;
  readonly now: number;
  readonly maxPages: number | undefined;
  readonly nativeBinding: string | undefined;
  readonly lockWaitMs: number | undefined;
}
