/** Standard Webhooks, https://www.standardwebhooks.com, with the `svix-*` spelling of its headers. */
import { headerValues, requiredValue, requiredValues } from '../raw-headers';
import type { Claim, Scheme } from '../scheme';
import { standardSecret } from '../secrets';
import { checkedId } from '../sender-id';
import { SignatureError } from '../signature-error';
import { decodeSignatures } from '../signature-values';
import { parseTimestampSecs } from '../timestamp';

interface HeaderNames {
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
}
const WEBHOOK: HeaderNames = {
  id: 'webhook-id',
  timestamp: 'webhook-timestamp',
  signature: 'webhook-signature',
};
const SVIX: HeaderNames = { id: 'svix-id', timestamp: 'svix-timestamp', signature: 'svix-signature' };

/** One whole family of headers; a mixture of both is refused like a missing header. */
function familyOf(rawHeaders: readonly string[]): HeaderNames {
  const isWhole = (names: HeaderNames) =>
    headerValues(rawHeaders, names.signature).length > 0 &&
    headerValues(rawHeaders, names.id).length > 0 &&
    headerValues(rawHeaders, names.timestamp).length > 0;
  return isWhole(WEBHOOK) || !isWhole(SVIX) ? WEBHOOK : SVIX;
}

/** `v1,<base64>` entries, separated by spaces. Entries of other versions are no signatures of this scheme. */
function readSignatures(values: readonly string[], header: string): Buffer[] {
  const entries = values.flatMap((value) => value.split(' ')).filter((entry) => entry !== '');
  const isOther = (entry: string) => entry.includes(',') && !entry.startsWith('v1,');
  if (entries.length > 0 && entries.every(isOther)) return [];
  return decodeSignatures(entries, { header, prefix: 'v1,', encoding: 'base64', algorithm: 'sha256' });
}

export const standard: Scheme = {
  algorithm: 'sha256',
  keyOf: standardSecret,
  read(rawHeaders): Claim {
    const names = familyOf(rawHeaders);
    const values = requiredValues(rawHeaders, names.signature);
    const id = requiredValue(rawHeaders, names.id);
    const timestampText = requiredValue(rawHeaders, names.timestamp);
    checkedId(id, names.id);
    // A dot would let a part of the body be read as the timestamp: `id.timestamp.body` must have one reading.
    if (id.includes('.')) {
      throw new SignatureError('malformed_header', `The ${names.id} header must not contain a dot.`);
    }
    return {
      timestampSecs: parseTimestampSecs(timestampText, names.timestamp),
      timestampText,
      signatures: readSignatures(values, names.signature),
      before: `${id}.${timestampText}.`,
      after: '',
      id,
    };
  },
  headers({ id, nowSecs }, mac) {
    const timestamp = String(Math.floor(nowSecs));
    return {
      [WEBHOOK.id]: id,
      [WEBHOOK.timestamp]: timestamp,
      [WEBHOOK.signature]: `v1,${mac(`${id}.${timestamp}.`, '').toString('base64')}`,
    };
  },
};
