import { createSecretKey, type KeyObject } from 'node:crypto';
import { refuseUnsetVariable } from '../config/env-reference';
import { ConfigError } from '../errors/errors';
import type { SchemeConfig, Verified, Verifier } from './contract';
import { macOf, matchesAny } from './mac';
import type { Claim, Scheme } from './scheme';
import { schemeOf } from './schemes';
import { SignatureError } from './signature-error';
import { checkFresh } from './timestamp';

const DEFAULT_TOLERANCE_SECS = 300;

/** The key of a secret. Throws ConfigError for one that is blank: an empty key would let anyone sign. */
export function keyOf(scheme: Scheme, secret: string | undefined): KeyObject {
  if (secret === undefined || secret.trim() === '') {
    throw new ConfigError(
      'ERR_SLUICE_WEBHOOK_SECRET_MISSING',
      'The webhook has no secret; enter the one that the sender signs with.',
    );
  }
  refuseUnsetVariable(secret);
  const bytes = scheme.keyOf(secret);
  return createSecretKey(bytes);
}

function toleranceOf(config: SchemeConfig): number {
  const { toleranceSecs = DEFAULT_TOLERANCE_SECS } = config;
  if (Number.isFinite(toleranceSecs) && toleranceSecs >= 0) return toleranceSecs;
  throw new ConfigError('ERR_SLUICE_CONFIG_INVALID', 'toleranceSecs must be a number of seconds, 0 or more.');
}

function identify(scheme: Scheme, claim: Claim, body: Uint8Array, mac: Buffer): Verified {
  const timestamp = claim.timestampSecs === undefined ? {} : { timestampSecs: claim.timestampSecs };
  const id = claim.id ?? scheme.bodyId?.(body);
  if (id !== undefined) return { id, idFrom: 'sender', ...timestamp };
  const fallback = `sig:${mac.toString('base64url')}:${claim.timestampText ?? ''}`;
  return { id: fallback, idFrom: 'signature', ...timestamp };
}

/**
 * Prepares keys and header names once; `verify` then runs per request. Throws ConfigError for a secret that is blank
 * or can't be decoded, and for a generic scheme that can't work.
 */
export function makeVerifier(config: SchemeConfig): Verifier {
  const scheme = schemeOf(config);
  const toleranceSecs = toleranceOf(config);
  const keys = [keyOf(scheme, config.secret)];
  if (config.previousSecret) keys.push(keyOf(scheme, config.previousSecret));

  return {
    verify({ rawHeaders, body, nowSecs }) {
      const claim = scheme.read(rawHeaders);
      for (const key of claim.signatures.length > 0 ? keys : []) {
        const mac = macOf(scheme.algorithm, key, claim.before, body, claim.after);
        if (!matchesAny(mac, claim.signatures)) continue;
        if (claim.timestampSecs !== undefined) checkFresh(claim.timestampSecs, nowSecs, toleranceSecs);
        return identify(scheme, claim, body, mac);
      }
      throw new SignatureError('bad_signature', 'No signature of the request fits a configured secret.');
    },
  };
}
