/** What a quiet or interrupted attempt comes to. Pure: the rules of the verdict, apart from how they are observed. */
import type { ErrorCode } from '../../errors/codes';
import { failureClassOf, retryAfterOf, type FailureClass } from '../../errors/errors';
import { DONE, type Verdict } from '../verdict';

/** An error that an attempt has met. */
export interface Incident {
  readonly error: unknown;
  /** The catch branch that it led to ended in a sink that keeps the record. */
  inCustody: boolean;
  /** The record is in the dead letters for it. */
  readonly kept?: boolean;
  /** Id of the node that raised it; absent for a source that couldn't send. */
  readonly nodeId?: string;
}

/** All errors of one attempt, folded into one: what can be tried again wins over what is wrong for good. */
export interface Failure {
  readonly failure: FailureClass;
  /** The first error of that class. */
  readonly error: Error;
  /** The longest wait that any destination asked for, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** Every error that counts left the record in the dead letters. */
  readonly kept: boolean;
  readonly nodeId: string | undefined;
}

const WEIGHT: Record<FailureClass, number> = { permanent: 0, config: 1, transient: 2 };

/** An Error whatever a node gave to `done` or `node.error`: an Error stays itself, text becomes the message. */
export function toError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  if (typeof thrown === 'object' && thrown !== null && 'message' in thrown) {
    return new Error(String(thrown.message), { cause: thrown });
  }
  return new Error(String(thrown));
}

/** What the incidents come to, but for those in custody. */
export function foldIncidents(incidents: readonly Incident[] | undefined): Failure | undefined {
  return incidents
    ?.filter(({ inCustody }) => !inCustody)
    .reduce<Failure | undefined>((failure, incident) => foldIncident(failure, incident), undefined);
}

export function foldIncident(
  before: Failure | undefined,
  { error: thrown, kept = false, nodeId }: Incident,
): Failure {
  const error = toError(thrown);
  const failure = failureClassOf(error);
  const retryAfterMs = retryAfterOf(error);
  if (!before) return { failure, error, retryAfterMs, kept, nodeId };
  const wait =
    retryAfterMs === undefined ? before.retryAfterMs : Math.max(retryAfterMs, before.retryAfterMs ?? 0);
  const isHeavier = WEIGHT[failure] > WEIGHT[before.failure];
  const heaviest = isHeavier ? { failure, error, nodeId } : before;
  return { ...heaviest, retryAfterMs: wait, kept: kept && before.kept };
}

/** What was seen of an attempt in which nothing is going on any more. */
export interface Observed {
  readonly incidents: readonly Incident[] | undefined;
  /** Ids of nodes that took it and can't tell when they have finished. */
  readonly untracked: ReadonlySet<string> | undefined;
  /** Deliveries that ended in a node instead of being passed on to nobody. */
  readonly absorbed: number;
  /** A sink of ours has taken it. */
  readonly reachedSink: boolean;
}

export function concludeQuiet({ incidents, untracked, absorbed, reachedSink }: Observed): Verdict {
  const failure = foldIncidents(incidents);
  if (failure) return failedBy(failure);
  if (untracked) return unknown('ERR_SLUICE_DELIVERY_UNTRACKABLE', [...untracked]);
  return absorbed > 0 || reachedSink ? DONE : aborted('ERR_SLUICE_DELIVERY_UNROUTED');
}

export function isUnrouted(verdict: Verdict): boolean {
  return verdict.kind === 'aborted' && verdict.reason === 'ERR_SLUICE_DELIVERY_UNROUTED';
}

/** An error that was seen outweighs the silence of the other branches. */
export function concludeTimeout(
  incidents: readonly Incident[] | undefined,
  open: readonly string[],
): Verdict {
  const failure = foldIncidents(incidents);
  return failure ? failedBy(failure) : unknown('ERR_SLUICE_DELIVERY_TIMEOUT', open);
}

export function aborted(reason: ErrorCode): Verdict {
  return { kind: 'aborted', reason };
}

function unknown(reason: ErrorCode, open: readonly string[]): Verdict {
  return { kind: 'unknown', reason, open };
}

function failedBy({ failure, error, retryAfterMs, kept, nodeId }: Failure): Verdict {
  return {
    kind: 'failed',
    failure,
    error,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(kept && failure === 'permanent' ? { kept } : {}),
    ...(nodeId === undefined ? {} : { nodeId }),
  };
}
