/** Slack: `v0=<hex>` over `v0:<timestamp>:<body>`. Events carry an `event_id`; commands and actions don't. */
import { requiredValue, requiredValues } from '../raw-headers';
import type { Claim, Scheme } from '../scheme';
import { textSecret } from '../secrets';
import { topLevelString } from '../sender-id';
import { decodeSignatures } from '../signature-values';
import { parseTimestampSecs } from '../timestamp';

const SIGNATURE = 'x-slack-signature';
const TIMESTAMP = 'x-slack-request-timestamp';
const PREFIX = 'v0=';

export const slack: Scheme = {
  algorithm: 'sha256',
  keyOf: textSecret,
  read(rawHeaders): Claim {
    const values = requiredValues(rawHeaders, SIGNATURE);
    const timestampText = requiredValue(rawHeaders, TIMESTAMP);
    return {
      timestampSecs: parseTimestampSecs(timestampText, TIMESTAMP),
      timestampText,
      signatures: decodeSignatures(values, {
        header: SIGNATURE,
        prefix: PREFIX,
        encoding: 'hex',
        algorithm: 'sha256',
      }),
      before: `v0:${timestampText}:`,
      after: '',
    };
  },
  bodyId: (body) => topLevelString(body, 'event_id'),
  headers({ nowSecs }, mac) {
    const timestamp = String(Math.floor(nowSecs));
    return {
      [TIMESTAMP]: timestamp,
      [SIGNATURE]: PREFIX + mac(`v0:${timestamp}:`, '').toString('hex'),
    };
  },
};
