import type { FailureClass } from '../errors/errors';

/** How a record ended. Only `done` acknowledges it to its origin. */
export type Verdict =
  | { readonly kind: 'done' }
  | {
      readonly kind: 'failed';
      readonly failure: FailureClass;
      readonly error: Error;
      readonly retryAfterMs?: number;
      /** Of a permanent failure: the record is in the dead letters already, its source need not keep it. */
      readonly kept?: boolean;
      /** Node that raised the error. */
      readonly nodeId?: string;
    }
  | {
      readonly kind: 'unknown';
      readonly reason: string;
      /** ids of nodes still busy with it */ readonly open: readonly string[];
    }
  | { readonly kind: 'aborted'; readonly reason: string };

export const DONE: Verdict = { kind: 'done' };
