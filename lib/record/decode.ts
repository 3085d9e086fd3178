import { parseCbor } from './cbor';
import { decompress, type Compression } from './decompress';
import { parseJson } from './json';
import { parseMsgpack } from './msgpack';
import { parseNdjson } from './ndjson';
import { RecordError } from './record-error';
import { charsetOf, decodeText } from './text';

export type Codec = 'json' | 'ndjson' | 'text' | 'msgpack' | 'cbor';

export interface DecodeOptions {
  readonly codec: Codec;
  readonly compression: Compression;
  /** Of text, unless the content type names a charset. */
  readonly encoding: string;
  /** Bound of the payload, as it came and unpacked. */
  readonly maxBytes: number;
}

/** What the headers of a request say of its body. */
export interface Described {
  readonly contentType?: string | undefined;
  readonly contentEncoding?: string | undefined;
}

const isText = (codec: Codec) => codec === 'json' || codec === 'ndjson' || codec === 'text';

function tooLarge(maxBytes: number): RecordError {
  return new RecordError(
    'ERR_SLUICE_DECODE_TOO_LARGE',
    `the payload is over the limit of ${maxBytes} bytes (maxBytes)`,
  );
}

function fromText(text: string, codec: Codec): unknown[] {
  if (codec === 'ndjson') return parseNdjson(text);
  return [codec === 'json' ? parseJson(text) : text];
}

function fromBytes(bytes: Uint8Array, { codec, encoding }: DecodeOptions, contentType?: string): unknown[] {
  if (codec === 'msgpack') return [parseMsgpack(bytes)];
  if (codec === 'cbor') return [parseCbor(bytes)];
  return fromText(decodeText(bytes, charsetOf(contentType) ?? encoding), codec);
}

/**
 * The records in a payload: one, or with `ndjson` one a line. Text that is already decoded is taken by the codecs of
 * text. Throws, or rejects with, RecordError (`ERR_SLUICE_DECODE_…`) for a payload that will never decode.
 */
export function decodePayload(
  payload: unknown,
  options: DecodeOptions,
  { contentType, contentEncoding }: Described = {},
): unknown[] | Promise<unknown[]> {
  const { codec, compression, maxBytes } = options;
  if (typeof payload === 'string' && isText(codec) && (compression === 'none' || compression === 'auto')) {
    if (payload.length * 3 > maxBytes && Buffer.byteLength(payload) > maxBytes) throw tooLarge(maxBytes);
    return fromText(payload, codec);
  }
  if (!(payload instanceof Uint8Array)) {
    const what =
      payload === null ? 'null' : Array.isArray(payload) ? 'an array' : `of type ${typeof payload}`;
    throw new RecordError('ERR_SLUICE_DECODE_INPUT', `the payload is ${what}; a Buffer was expected`);
  }
  if (payload.length > maxBytes) throw tooLarge(maxBytes);
  const bytes = decompress(payload, compression, maxBytes, contentEncoding);
  if (bytes instanceof Promise) return bytes.then((unpacked) => fromBytes(unpacked, options, contentType));
  return fromBytes(bytes, options, contentType);
}
