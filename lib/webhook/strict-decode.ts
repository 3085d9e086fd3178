/**
 * Hex and base64 without the leniency of `Buffer.from`, which stops at the first bad hex digit and skips characters
 * that aren't base64: with it, different texts would pass as one signature.
 */
const HEX = /^(?:[0-9a-fA-F]{2})+$/;

/** Bytes of a hex text, digits in either case; undefined if it isn't one. */
export function decodeHex(text: string): Buffer | undefined {
  return HEX.test(text) ? Buffer.from(text, 'hex') : undefined;
}

/** Bytes of a padded base64 text in its one canonical spelling; undefined if it isn't one. */
export function decodeBase64(text: string): Buffer | undefined {
  if (text === '' || text.length % 4 !== 0) return undefined;
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}

export const STRICT_DECODERS = { hex: decodeHex, base64: decodeBase64 } as const;
