import { createHash, timingSafeEqual } from 'node:crypto';
import { refuseUnsetVariable } from '../config/env-reference';
import { ConfigError, VerifyError } from '../errors/errors';

const digest = (text: string) => createHash('sha256').update(text).digest();

/**
 * Makes the check of an `Authorization: Bearer …` header, in constant time. Throws ConfigError for an empty token; the
 * check throws VerifyError.
 */
export function bearerCheck(token: string | undefined): (authorization: string | undefined) => void {
  if (token === undefined || token.trim() === '') {
    throw new ConfigError('ERR_SLUICE_INGEST_TOKEN_MISSING', 'The source has no token; enter one.');
  }
  refuseUnsetVariable(token);
  const expected = digest(token.trim());
  return (authorization = '') => {
    const [, given] = /^Bearer +(\S+) *$/i.exec(authorization) ?? [];
    if (given !== undefined && timingSafeEqual(digest(given), expected)) return;
    throw new VerifyError('ERR_SLUICE_INGEST_TOKEN', 'the bearer token is missing or wrong');
  };
}
