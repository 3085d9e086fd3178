import { isAscii, isUtf8 } from 'node:buffer';
import { TextDecoder } from 'node:util';
import { ConfigError } from '../errors/errors';
import { RecordError } from './record-error';

const UTF8 = /^utf-?8$/i;
const CHARSET = /;\s*charset\s*=\s*"?([^\s;"]+)"?/i;
const BOM = 0xfeff;

/** The charset that a content type names. */
export function charsetOf(contentType: string | undefined): string | undefined {
  return contentType === undefined ? undefined : CHARSET.exec(contentType)?.[1];
}

const bufferOf = (bytes: Uint8Array) =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Throws ConfigError for an encoding that this Node.js can't decode. */
export function checkEncoding(encoding: string): void {
  try {
    new TextDecoder(encoding);
  } catch (cause) {
    throw new ConfigError('ERR_SLUICE_CONFIG_INVALID', `encoding "${encoding}" is not known here`, { cause });
  }
}

/**
 * The text of bytes without a byte order mark. Throws RecordError for bytes that aren't in this encoding, instead of
 * putting U+FFFD in their place, and for an encoding that isn't known.
 */
export function decodeText(bytes: Uint8Array, encoding: string): string {
  if (encoding === 'utf-8' || UTF8.test(encoding)) {
    if (isAscii(bytes)) return bufferOf(bytes).toString('latin1');
    if (!isUtf8(bytes)) throw new RecordError('ERR_SLUICE_DECODE_TEXT', 'the payload is not valid utf-8');
    const text = bufferOf(bytes).toString('utf8');
    return text.charCodeAt(0) === BOM ? text.slice(1) : text;
  }
  let decoder: TextDecoder;
  try {
    decoder = new TextDecoder(encoding, { fatal: true });
  } catch (cause) {
    throw new RecordError('ERR_SLUICE_DECODE_CHARSET', 'the payload names a charset that is not known here', {
      cause,
    });
  }
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new RecordError('ERR_SLUICE_DECODE_TEXT', `the payload is not valid ${decoder.encoding}`, {
      cause,
    });
  }
}
