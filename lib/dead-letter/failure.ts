/** What is known of one failure, and what kind it is. Pure. */
import { failureClassOf, ownCodeOf, type FailureClass } from '../errors/errors';
import { STAGES, type Stage } from '../errors/stages';
import type { Stamp } from '../delivery/stamp';
import type { Message } from '../node-red/types';
import type { ReplayTarget } from './contract';

export interface FailedNode {
  readonly id: string;
  readonly type: string;
  readonly name?: string;
  readonly isSink: boolean;
}

export interface Failure {
  readonly error: Error;
  readonly class: FailureClass;
  /** Id of the tab that the failure belongs to. */
  readonly rule: string;
  /** The record, as the node that failed got it. */
  readonly msg: Message;
  readonly node: FailedNode | undefined;
  readonly stamp: Stamp | undefined;
  readonly target: ReplayTarget;
  /** Where neither error nor node tell. */
  readonly stage?: Stage;
  /** See {@link NewLetter.key}. */
  readonly key?: string;
}

/** Codes of what could not be written in the form that a sink or queue needs. */
const UNWRITABLE = new Set(['ERR_SLUICE_RECORD_UNSERIALISABLE', 'ERR_SLUICE_REST_PAYLOAD']);

/** Stage of a failure: what the error says, else delivery for a sink, else evaluation. */
export function stageOf(error: Error, isSink: boolean): Stage {
  if ('stage' in error && typeof error.stage === 'string' && Object.hasOwn(STAGES, error.stage)) {
    return error.stage as Stage;
  }
  if (UNWRITABLE.has(ownCodeOf(error) ?? '')) return 'DataTemplate';
  return isSink ? 'SinkDelivery' : 'SqlEval';
}

/** Codes of the operating system, and of HTTP clients, that say nothing about the record. */
const TRANSIENT_CODE =
  /^(?:E(?:CONN|TIMEDOUT|PIPE|AI_|NOTFOUND|HOST|NET|ADDR|BUSY|MFILE|NOSPC|AGAIN)|UND_ERR_)/;

/**
 * Class of an error that was led to a dlq by a catch node. Ours say it themselves. Of any other, a failed connection or
 * a full disk can be tried again; everything else is taken for the record's own, as the user who wired it there does.
 */
export function caughtClassOf(error: Error): FailureClass {
  if ('failure' in error) return failureClassOf(error);
  const code = 'code' in error ? String(error.code) : '';
  return TRANSIENT_CODE.test(code) ? 'transient' : 'permanent';
}

/** The public form of a dead letter, however it was transported: such a record must not become one again. */
export function isEnvelope(payload: unknown): boolean {
  if (typeof payload === 'string') return isEnvelopeText(payload.slice(0, 64));
  if (ArrayBuffer.isView(payload)) {
    return isEnvelopeText(
      Buffer.from(payload.buffer, payload.byteOffset, Math.min(64, payload.byteLength)).toString('latin1'),
    );
  }
  if (typeof payload !== 'object' || payload === null) return false;
  return (
    'rule_id' in payload &&
    'stage_code' in payload &&
    'timestamp' in payload &&
    'stage' in payload &&
    typeof payload.stage === 'string' &&
    Object.hasOwn(STAGES, payload.stage)
  );
}

const isEnvelopeText = (start: string) => /^\s*\[?\s*\{\s*"rule_id"\s*:/.test(start);
