/** One HTTP source's request, from its unread body to the answer. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { IncomingRecord, Outcome } from '../delivery/entry';
import { InputError, VerifyError } from '../errors/errors';
import { digestOf } from '../inbox/settled-entry';
import type { Message } from '../node-red/types';
import * as answers from './answers';
import { readBody, type BodyLimits } from './read-body';

/** How one kind of source lets requests in. */
export interface Door {
  /** Checks that need no body, before any of it is buffered. Throws VerifyError. */
  greet?(req: IncomingMessage): void;
  /** Verifies the request and names the record: its idempotency key. Throws VerifyError. */
  identify(req: IncomingMessage, body: Buffer, tail: string): string;
  /** The answer to a verified request that carries no record, such as a handshake. */
  handshake?(body: Buffer): answers.Answer | undefined;
  /** The record's payload. Throws InputError for a body that can't be decoded. */
  decode(body: Buffer, headers: IncomingHttpHeaders): unknown;
}

export interface ReceiveOptions {
  readonly topic: string;
  readonly limits: BodyLimits;
  readonly keepRaw: boolean;
  readonly now: () => number;
  /** Told of errors that are neither the sender's nor expected. */
  readonly report: (error: unknown) => void;
  /** Told why a request was turned away for good; its sender isn't told. */
  readonly onRejected: (error: Error) => void;
}

/** Requests that never became a record, by reason. */
export interface DoorCounters {
  unauthorized: number;
  malformed: number;
  tooLarge: number;
  interrupted: number;
}

/** Headers that carry the sender's credentials: a record travels on to queues, destinations and debug panes. */
const CREDENTIAL_HEADERS = ['authorization', 'proxy-authorization', 'cookie'];

/** Header JSON of a stored record around the message's own properties. */
const STORED_OVERHEAD_BYTES = 280;

/** Makes the endpoint of a source: read, verify, decode, hand to `take`, answer. Never throws. */
export function makeEndpoint(
  take: (record: IncomingRecord) => Promise<Outcome>,
  door: Door,
  options: ReceiveOptions,
  counters: DoorCounters,
): (req: IncomingMessage, res: ServerResponse, tail: string) => void {
  const fail = (res: ServerResponse, error: unknown) => {
    const answer = answerTo(error, counters);
    if (!answer) options.report(error);
    else if (error instanceof Error) options.onRejected(error);
    // A fault of ours: nothing was accepted, so the sender keeps its record.
    answers.send(res, answer ?? answers.flowRetryLater);
  };

  return (req, res, tail) => {
    try {
      door.greet?.(req);
    } catch (error) {
      return fail(res, error);
    }
    readBody(req, options.limits, (error, body) => {
      if (error) return fail(res, error);
      let record: IncomingRecord;
      try {
        const key = door.identify(req, body, tail);
        const handshake = door.handshake?.(body);
        if (handshake) return answers.send(res, handshake);
        record = toRecord(key, req, body, door.decode(body, req.headers), options);
      } catch (problem) {
        return fail(res, problem);
      }
      take(record).then(
        (outcome) => {
          if (outcome.kind === 'rejected') options.onRejected(outcome.error);
          answers.send(res, answerOf(outcome));
        },
        (problem: unknown) => fail(res, problem),
      );
    });
  };
}

function toRecord(
  key: string,
  req: IncomingMessage,
  body: Buffer,
  payload: unknown,
  { topic, keepRaw, now }: ReceiveOptions,
): IncomingRecord {
  const headers = { ...req.headers };
  for (const name of CREDENTIAL_HEADERS) delete headers[name];
  const message: Message = { topic, payload, headers, query: queryOf(req.url ?? '') };
  if (keepRaw) message['raw'] = body;
  let bytes = body.length * (keepRaw ? 2 : 1) + STORED_OVERHEAD_BYTES;
  for (const part of req.rawHeaders) bytes += part.length + 3;
  return { key, digest: digestOf(body), bytes, receivedAt: now(), message };
}

function queryOf(url: string): Record<string, string> {
  const start = url.indexOf('?');
  return start < 0 ? {} : Object.fromEntries(new URLSearchParams(url.slice(start + 1)));
}

function answerOf(outcome: Outcome): answers.Answer {
  switch (outcome.kind) {
    case 'done':
      return answers.done(outcome.id);
    case 'accepted':
      return answers.accepted(outcome.id);
    case 'rejected':
      return answers.rejected;
    case 'refused':
      return answers.retryLater(outcome.refusal);
  }
}

function answerTo(error: unknown, counters: DoorCounters): answers.Answer | undefined {
  if (error instanceof VerifyError) {
    counters.unauthorized += 1;
    return answers.unauthorised;
  }
  if (!(error instanceof InputError)) return undefined;
  switch (error.code) {
    case 'ERR_SLUICE_BODY_TOO_LARGE':
      counters.tooLarge += 1;
      return answers.tooLarge;
    case 'ERR_SLUICE_BODY_TIMEOUT':
      counters.interrupted += 1;
      return answers.tooSlow;
    case 'ERR_SLUICE_BODY_BUDGET':
    case 'ERR_SLUICE_BODY_INCOMPLETE':
      counters.interrupted += 1;
      return answers.flowRetryLater;
    case 'ERR_SLUICE_BODY_CHARSET':
    case 'ERR_SLUICE_BODY_ENCODING':
      counters.malformed += 1;
      return answers.unsupportedType;
    case 'ERR_SLUICE_INGEST_ID_MISSING':
      counters.malformed += 1;
      return answers.unknownPath;
    default:
      counters.malformed += 1;
      return answers.rejected;
  }
}
