/** Makes what is kept of a failure. Never throws: whatever a record holds, its failure must be written down. */
import { ownCodeOf } from '../errors/errors';
import { STAGES } from '../errors/stages';
import { encodeRecord } from '../queue/record-format';
import type { Envelope } from './contract';
import { stageOf, type Failure } from './failure';
import { rawFields } from './raw-payload';
import { rawOfRecord, tupleOf, type Derived } from './shown-payload';

/**
 * Headers that a record keeps: what it is and where it is from. Whatever else a sender sends may prove who it is, under
 * any name (`x-shopify-hmac-sha256`, the header of a generic webhook), and a stored record is never verified again.
 */
const KEPT_HEADERS =
  /^(?:accept|content-(?:type|encoding|length|language)|date|host|user-agent|idempotency-key|traceparent|tracestate|webhook-(?:id|timestamp)|x-(?:request|correlation)-id|x-github-(?:event|delivery)|x-shopify-(?:topic|shop-domain|webhook-id|event-id|triggered-at|api-version))$/i;
/** Names under which queries carry credentials. */
const SECRET_QUERY = /token|secret|signature|password|credential|hmac|api[-_]?key|^(?:key|sig|auth|code)$/i;
const MAX_ERROR_TEXT = 2048;
const NO_RECORD = new Uint8Array(0);

export interface Kept {
  readonly envelope: Envelope;
  readonly derived: Derived;
  /** Empty where the record isn't or can't be kept. */
  readonly record: Uint8Array;
}

/** `includeRawPayload: false` keeps neither what came in nor the record. */
export function keepFailure(failure: Failure, now: number, includeRawPayload: boolean): Kept {
  const { error, node, stamp, rule, msg } = failure;
  const stage = failure.stage ?? stageOf(error, node?.isSink ?? false);
  const { record, why } = includeRawPayload
    ? tryEncode(failure)
    : { record: NO_RECORD, why: 'includeRawPayload is off' };
  const code = ownCodeOf(error) ?? foreignCode(error);
  const raw = includeRawPayload ? givenRaw(failure, record) : {};
  const before = 'tuple' in error && error.tuple !== undefined ? error.tuple : msg.payload;
  const envelope: Envelope = {
    rule_id: rule,
    stage,
    stage_code: STAGES[stage].number,
    error: textOf(error),
    timestamp: now,
    ...(raw ?? rawOfRecord(record)),
    ...tupleOf(before),
    ...(node?.isSink && { sink_type: node.type }),
    ...(stamp && { record_id: stamp.id, source: stamp.source }),
    ...(node && { node: { id: node.id, type: node.type, ...(node.name && { name: node.name }) } }),
    ...(code !== undefined && { error_code: code }),
    class: failure.class,
    ...(stamp && { attempts: stamp.attempt }),
    ...(why !== undefined && { not_replayable: why }),
  };
  const derived = { raw: raw === undefined, tuple: record.byteLength > 0 && before === msg.payload };
  return { envelope, derived, record };
}

/** Third-party errors may have a message that is no text. */
function textOf(error: { readonly message: unknown; readonly name: unknown }): string {
  return String(error.message).slice(0, MAX_ERROR_TEXT) || String(error.name);
}

function foreignCode(error: Error): string | undefined {
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

function tryEncode({ msg }: Failure): { readonly record: Uint8Array; readonly why?: string } {
  try {
    const { sluice: _sluice, error: _error, headers, query, ...rest } = msg;
    const kept = {
      ...rest,
      ...(headers !== undefined && { headers: pick(headers, (name) => KEPT_HEADERS.test(name)) }),
      ...(query !== undefined && { query: pick(query, (name) => !SECRET_QUERY.test(name)) }),
    };
    return { record: encodeRecord(kept) };
  } catch (cause) {
    return { record: NO_RECORD, why: cause instanceof Error ? cause.message : String(cause) };
  }
}

function pick(properties: unknown, isKept: (name: string) => boolean): unknown {
  if (typeof properties !== 'object' || properties === null) return properties;
  return Object.fromEntries(Object.entries(properties).filter(([name]) => isKept(name)));
}

/** Undefined where it follows from the record. */
function givenRaw({ error, msg }: Failure, record: Uint8Array): ReturnType<typeof rawFields> | undefined {
  if ('raw' in error && error.raw instanceof Uint8Array) return rawFields(error.raw);
  const { raw, payload } = msg;
  if (raw instanceof Uint8Array) return rawFields(raw);
  if (record.byteLength > 0) return undefined;
  if (payload instanceof Uint8Array) return rawFields(payload);
  return typeof payload === 'string' ? rawFields(Buffer.from(payload.slice(0, 8192))) : {};
}
