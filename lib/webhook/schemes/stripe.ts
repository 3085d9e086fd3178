/** Stripe: `t=<secs>,v1=<hex>[,v1=…]` over `<secs>.<body>`. `v0` and unknown keys are ignored. */
import { requiredValues } from '../raw-headers';
import type { Claim, Scheme } from '../scheme';
import { textSecret } from '../secrets';
import { topLevelString } from '../sender-id';
import { SignatureError } from '../signature-error';
import { decodeSignatures } from '../signature-values';
import { parseTimestampSecs } from '../timestamp';

const SIGNATURE = 'stripe-signature';

function readItems(values: readonly string[]): { timestamps: string[]; v1: string[]; others: number } {
  const timestamps: string[] = [];
  const v1: string[] = [];
  let others = 0;
  for (const value of values) {
    for (const item of value.split(',')) {
      const text = item.trim();
      if (text.startsWith('t=')) timestamps.push(text.slice(2));
      else if (text.startsWith('v1=')) v1.push(text.slice(3));
      else if (text.includes('=')) others += 1;
    }
  }
  return { timestamps, v1, others };
}

function onlyTimestamp(timestamps: readonly string[]): string {
  const [first] = timestamps;
  if (first === undefined) {
    throw new SignatureError('malformed_header', `The ${SIGNATURE} header has no timestamp (t=).`);
  }
  if (timestamps.length > 1) {
    throw new SignatureError('bad_signature', `The ${SIGNATURE} header has more than one timestamp (t=).`);
  }
  return first;
}

export const stripe: Scheme = {
  algorithm: 'sha256',
  keyOf: textSecret,
  read(rawHeaders): Claim {
    const { timestamps, v1, others } = readItems(requiredValues(rawHeaders, SIGNATURE));
    const timestampText = onlyTimestamp(timestamps);
    return {
      timestampSecs: parseTimestampSecs(timestampText, SIGNATURE),
      timestampText,
      signatures:
        v1.length === 0 && others > 0
          ? []
          : decodeSignatures(v1, { header: SIGNATURE, prefix: '', encoding: 'hex', algorithm: 'sha256' }),
      before: `${timestampText}.`,
      after: '',
    };
  },
  bodyId: (body) => topLevelString(body, 'id'),
  headers({ nowSecs }, mac) {
    const timestamp = String(Math.floor(nowSecs));
    return { [SIGNATURE]: `t=${timestamp},v1=${mac(`${timestamp}.`, '').toString('hex')}` };
  },
};
