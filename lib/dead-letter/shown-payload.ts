/**
 * What an envelope shows of its record: the beginning of what came in, and the record in a form that JSON can say. Where
 * they follow from the stored record they aren't stored a second and third time, but made of it when a letter is read.
 */
import { decodeRecord, payloadOf } from '../queue/record-format';
import type { Envelope } from './contract';
import { rawFields } from './raw-payload';
import { safeValue } from './safe-value';

/** Which of the two follow from the record. */
export interface Derived {
  readonly raw: boolean;
  readonly tuple: boolean;
}

type RawFields = ReturnType<typeof rawFields>;
type TupleFields = Pick<Envelope, 'tuple' | 'tuple_truncated'>;

/** The payload as it is stored: a view into the record, not another copy of a large payload. */
export const rawOfRecord = (record: Uint8Array): RawFields => rawFields(payloadOf(record).bytes);

export function tupleOf(value: unknown): TupleFields {
  // What came in as text or bytes is in raw_payload.
  if (value === undefined || typeof value === 'string' || ArrayBuffer.isView(value)) return {};
  const { value: tuple, truncated } = safeValue(value);
  return { tuple, ...(truncated && { tuple_truncated: true }) };
}

/** The envelope to store beside the record. */
export function withoutDerived(envelope: Envelope, { raw, tuple }: Derived): Envelope {
  let stored = envelope;
  if (raw) {
    const { raw_payload: _raw, raw_encoding: _encoding, raw_truncated: _cut, ...rest } = stored;
    stored = rest;
  }
  if (tuple) {
    const { tuple: _tuple, tuple_truncated: _short, ...rest } = stored;
    stored = rest;
  }
  return stored;
}

export function withDerived(stored: Envelope, { raw, tuple }: Derived, record: Uint8Array): Envelope {
  if (record.byteLength === 0) return stored;
  return {
    ...stored,
    ...(raw && rawOfRecord(record)),
    ...(tuple && tupleOf(decodeRecord(record).payload)),
  };
}
