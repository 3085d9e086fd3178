/**
 * A remembered verdict as six 32-bit words, in memory and in the file: 96 bits of SHA-256 over source and key, 64 bits
 * of SHA-256 over the body, and expiry (Unix minutes) with the verdict in the lowest bit. The last word is never 0.
 * Two keys among a million share 96 bits with a chance of 1 in 10^17; longer keys take no more room than short ones.
 */
import { hash } from 'node:crypto';
import type { BodyDigest, KnownVerdict, Settled } from './contract';

export const ENTRY_WORDS = 6;
export const ENTRY_BYTES = ENTRY_WORDS * 4;
const KEY_CHARS = 24;
const DIGEST_CHARS = 16;
const MINUTE_MS = 60_000;

export type KeyWords = readonly [number, number, number];

/** Digest of a request's body, for comparison with the one a key was first seen with. */
export function digestOf(body: Uint8Array): BodyDigest {
  return hash('sha256', body, 'hex').slice(0, DIGEST_CHARS);
}

const wordOf = (hex: string, index: number) => Number.parseInt(hex.slice(index * 8, index * 8 + 8), 16);

export function keyWordsOf(source: string, key: string): KeyWords {
  const hex = hash('sha256', `${source}\0${key}`, 'hex').slice(0, KEY_CHARS);
  return [wordOf(hex, 0), wordOf(hex, 1), wordOf(hex, 2)];
}

export function minuteOf(unixMs: number): number {
  return Math.floor(unixMs / MINUTE_MS);
}

export function encodeEntry({ source, key, digest, verdict, expiresAt }: Settled): Uint32Array<ArrayBuffer> {
  const entry = new Uint32Array(ENTRY_WORDS);
  entry.set(keyWordsOf(source, key));
  entry[3] = wordOf(digest, 0);
  entry[4] = wordOf(digest, 1);
  entry[5] = Math.ceil(expiresAt / MINUTE_MS) * 2 + (verdict === 'rejected' ? 1 : 0);
  return entry;
}

/** The minute at which an entry is no longer known. */
export function expiryMinuteOf(entry: Uint32Array): number {
  return (entry[5] as number) >>> 1;
}

export function decodeVerdict(digestHigh: number, digestLow: number, meta: number): KnownVerdict {
  const hex = (word: number) => word.toString(16).padStart(8, '0');
  return { digest: hex(digestHigh) + hex(digestLow), verdict: (meta & 1) === 1 ? 'rejected' : 'done' };
}
