/** Shopify: HMAC-SHA256 over the body alone, in base64. */
import { requiredValues, singleValue } from '../raw-headers';
import type { Claim, Scheme } from '../scheme';
import { textSecret } from '../secrets';
import { checkedId } from '../sender-id';
import { decodeSignatures } from '../signature-values';

const SIGNATURE = 'x-shopify-hmac-sha256';
const WEBHOOK_ID = 'x-shopify-webhook-id';

export const shopify: Scheme = {
  algorithm: 'sha256',
  keyOf: textSecret,
  read(rawHeaders): Claim {
    const values = requiredValues(rawHeaders, SIGNATURE);
    return {
      signatures: decodeSignatures(values, {
        header: SIGNATURE,
        prefix: '',
        encoding: 'base64',
        algorithm: 'sha256',
      }),
      before: '',
      after: '',
      id: checkedId(singleValue(rawHeaders, WEBHOOK_ID), WEBHOOK_ID),
    };
  },
  headers: ({ id }, mac) => ({
    [WEBHOOK_ID]: id,
    [SIGNATURE]: mac('', '').toString('base64'),
  }),
};
