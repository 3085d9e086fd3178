import { choice, number, text, type Fields } from '#lib/config/fields';

export interface RecordDecodeConfig {
  readonly name: string;
  readonly codec: 'json' | 'ndjson' | 'text' | 'msgpack' | 'cbor';
  readonly compression: 'none' | 'auto' | 'gzip' | 'deflate' | 'br' | 'zstd' | 'snappy';
  /** A label of the WHATWG encoding standard, for text whose content type names none. */
  readonly encoding: string;
  /** Bound of a payload, as it comes and unpacked. */
  readonly maxBytes: number;
}

export const fields: Fields<RecordDecodeConfig> = {
  name: text(),
  codec: choice('json', ['json', 'ndjson', 'text', 'msgpack', 'cbor']),
  compression: choice('none', ['none', 'auto', 'gzip', 'deflate', 'br', 'zstd', 'snappy']),
  encoding: text('utf-8', { pattern: /^[\w.:-]+$/ }),
  maxBytes: number(16_777_216, { min: 1, max: 536_870_912 }),
};
