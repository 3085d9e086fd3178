import { createHmac, timingSafeEqual, type KeyObject } from 'node:crypto';
import type { HmacAlgorithm } from './contract';

const DIGEST_BYTES: Record<HmacAlgorithm, number> = { sha1: 20, sha256: 32, sha384: 48, sha512: 64 };

export function digestBytes(algorithm: HmacAlgorithm): number {
  return DIGEST_BYTES[algorithm];
}

export function macOf(
  algorithm: HmacAlgorithm,
  key: KeyObject,
  before: string,
  body: Uint8Array,
  after: string,
): Buffer {
  const hmac = createHmac(algorithm, key);
  if (before !== '') hmac.update(before, 'latin1');
  hmac.update(body);
  if (after !== '') hmac.update(after, 'latin1');
  return hmac.digest();
}

/** Compares in constant time with each candidate; those of another length are no candidates at all. */
export function matchesAny(mac: Buffer, candidates: readonly Buffer[]): boolean {
  let matched = false;
  for (const candidate of candidates) {
    if (candidate.length === mac.length && timingSafeEqual(candidate, mac)) matched = true;
  }
  return matched;
}
