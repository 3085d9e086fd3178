/** From what a user pasted to key bytes. Everything unusable is found when the node starts, never per request. */
import { ConfigError } from '../errors/errors';
import { STRICT_DECODERS } from './strict-decode';

function checkedText(secret: string): string {
  if (secret !== secret.trim()) {
    throw new ConfigError(
      'ERR_SLUICE_WEBHOOK_SECRET_MALFORMED',
      'The secret begins or ends with white space; paste it again without the line break.',
    );
  }
  return secret;
}

/** The text's own bytes: GitHub, Stripe (its `whsec_` included), Slack, Shopify. */
export function textSecret(secret: string): Buffer {
  return Buffer.from(checkedText(secret), 'utf8');
}

/** A secret written in hex or base64. */
export function encodedSecret(secret: string, encoding: 'hex' | 'base64'): Buffer {
  const bytes = STRICT_DECODERS[encoding](checkedText(secret));
  if (bytes) return bytes;
  throw new ConfigError('ERR_SLUICE_WEBHOOK_SECRET_MALFORMED', `The secret is not valid ${encoding}.`);
}

const STANDARD_PREFIX = 'whsec_';

/** Standard Webhooks: `whsec_` (optional) and base64 of the key. */
export function standardSecret(secret: string): Buffer {
  const text = checkedText(secret);
  const bytes = STRICT_DECODERS.base64(text.startsWith(STANDARD_PREFIX) ? text.slice(6) : text);
  if (bytes) return bytes;
  throw new ConfigError(
    'ERR_SLUICE_WEBHOOK_SECRET_MALFORMED',
    text.includes(',')
      ? 'The secret has a part before "whsec_", such as "v1,"; paste it from "whsec_" on.'
      : 'The secret must be "whsec_" followed by base64.',
  );
}
