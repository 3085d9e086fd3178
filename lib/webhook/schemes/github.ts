/** GitHub: HMAC-SHA256 over the body alone. `X-Hub-Signature` (SHA-1) is ignored: the sender mustn't pick the weaker one. */
import { requiredValues, singleValue } from '../raw-headers';
import type { Claim, Scheme } from '../scheme';
import { textSecret } from '../secrets';
import { checkedId } from '../sender-id';
import { decodeSignatures } from '../signature-values';

const SIGNATURE = 'x-hub-signature-256';
const DELIVERY = 'x-github-delivery';
const PREFIX = 'sha256=';

export const github: Scheme = {
  algorithm: 'sha256',
  keyOf: textSecret,
  read(rawHeaders): Claim {
    const values = requiredValues(rawHeaders, SIGNATURE);
    return {
      signatures: decodeSignatures(values, {
        header: SIGNATURE,
        prefix: PREFIX,
        encoding: 'hex',
        algorithm: 'sha256',
      }),
      before: '',
      after: '',
      id: checkedId(singleValue(rawHeaders, DELIVERY), DELIVERY),
    };
  },
  headers: ({ id }, mac) => ({
    [DELIVERY]: id,
    [SIGNATURE]: PREFIX + mac('', '').toString('hex'),
  }),
};
