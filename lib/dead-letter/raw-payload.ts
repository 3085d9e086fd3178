/** The beginning of what came in, as the dead-letter document has it: 4096 bytes at most, cut on bytes (R17). */
import { isUtf8 } from 'node:buffer';
import type { Envelope } from './contract';

export const MAX_RAW_BYTES = 4096;

type RawFields = Pick<Envelope, 'raw_payload' | 'raw_encoding' | 'raw_truncated'>;

/** Text where the bytes are UTF-8, also when the cut goes through a character; base64 for anything else. */
export function rawFields(bytes: Uint8Array): RawFields {
  if (bytes.byteLength === 0) return {};
  const raw_truncated = bytes.byteLength > MAX_RAW_BYTES;
  const cut = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, MAX_RAW_BYTES));
  const flag = raw_truncated ? { raw_truncated } : {};
  const text = textOf(cut, raw_truncated);
  if (text !== undefined) return { raw_payload: text, ...flag };
  return { raw_payload: cut.toString('base64'), raw_encoding: 'base64', ...flag };
}

/** A character has 4 bytes at most, so a cut leaves up to 3 of one behind. */
function textOf(bytes: Buffer, truncated: boolean): string | undefined {
  for (let left = 0; left <= (truncated ? 3 : 0); left += 1) {
    const whole = bytes.subarray(0, bytes.length - left);
    if (isUtf8(whole)) return whole.toString('utf8');
  }
  return undefined;
}
