/**
 * Unpacks payloads of senders that can't be trusted: never more than `maxBytes` come out, a stream that is cut off or
 * followed by something is refused. Small ones are unpacked at once, which takes a tenth of the time of a thread of the
 * pool (10 µs against 250); larger ones there.
 */
import * as zlib from 'node:zlib';
import { RecordError } from './record-error';
import { unpackSnappy } from './snappy';
import { loadFzstd, unpackZstd } from './zstd';

export type Compression = 'none' | 'auto' | 'gzip' | 'deflate' | 'br' | 'zstd' | 'snappy';
type Format = Exclude<Compression, 'none' | 'auto'>;

const UNPACK_AT_ONCE_BYTES = 16_384;

/** With `info`, zlib tells what it consumed; its types don't know. */
interface Unpacked {
  readonly buffer: Buffer;
  readonly engine: { readonly bytesWritten: number };
}
interface UnpackOptions {
  readonly maxOutputLength: number;
  readonly info: true;
}
interface ZlibFormat {
  readonly now: (bytes: Uint8Array, options: UnpackOptions) => unknown;
  readonly later: (
    bytes: Uint8Array,
    options: UnpackOptions,
    callback: (error: Error | null, result: unknown) => void,
  ) => void;
}

const isZlibHeader = (bytes: Uint8Array) =>
  ((bytes[0] ?? 0) & 0x0f) === 8 && (((bytes[0] ?? 0) << 8) | (bytes[1] ?? 0)) % 31 === 0;

/** HTTP's "deflate" means zlib; some senders leave its header out. */
const deflate = (bytes: Uint8Array): ZlibFormat =>
  isZlibHeader(bytes)
    ? { now: zlib.inflateSync, later: zlib.inflate }
    : { now: zlib.inflateRawSync, later: zlib.inflateRaw };

function zlibZstd(): ZlibFormat | undefined {
  const own: Readonly<Record<string, unknown>> = { ...zlib };
  const now = own['zstdDecompressSync'];
  const later = own['zstdDecompress'];
  if (typeof now !== 'function' || typeof later !== 'function') return undefined;
  return { now: now as ZlibFormat['now'], later: later as ZlibFormat['later'] };
}

/** Throws ConfigError when this format needs a package that isn't installed. */
export function checkCompression(compression: Compression): void {
  if (compression === 'zstd' && !zlibZstd()) loadFzstd();
}

/** By the first bytes. brotli and raw snappy begin with nothing that tells them. */
function sniff(bytes: Uint8Array): Format | undefined {
  const [first, second, third, fourth] = bytes;
  if (first === 0x1f && second === 0x8b) return 'gzip';
  if (first === 0x28 && second === 0xb5 && third === 0x2f && fourth === 0xfd) return 'zstd';
  // 78 5e would be zlib too, but it is the text "x^" as well.
  if (first === 0x78 && (second === 0x01 || second === 0x9c || second === 0xda)) return 'deflate';
  return undefined;
}

const BY_NAME: ReadonlyMap<string, Format> = new Map<string, Format>([
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
  ['br', 'br'],
  ['zstd', 'zstd'],
  ['snappy', 'snappy'],
]);

function formatOf(bytes: Uint8Array, compression: Compression, contentEncoding: string): Format | undefined {
  if (compression === 'none') return undefined;
  if (compression !== 'auto') return compression;
  const named = contentEncoding.trim().toLowerCase();
  if (named === '' || named === 'identity') return sniff(bytes);
  const format = BY_NAME.get(named);
  if (format === undefined) {
    throw new RecordError(
      'ERR_SLUICE_DECODE_COMPRESSION',
      'the payload names a compression that is not known here',
    );
  }
  // Servers and proxies unpack a body and leave its header.
  return format === 'gzip' && sniff(bytes) !== 'gzip' ? undefined : format;
}

const tooLarge = (maxBytes: number) =>
  new RecordError(
    'ERR_SLUICE_DECODE_TOO_LARGE',
    `the payload is over the decompressed size limit of ${maxBytes} bytes (maxBytes)`,
  );

function failed(error: unknown, format: Format, maxBytes: number): RecordError {
  if (error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE')
    return tooLarge(maxBytes);
  const reason = error instanceof Error ? `: ${error.message}` : '';
  return new RecordError('ERR_SLUICE_DECODE_COMPRESSION', `decompression (${format}) failed${reason}`, {
    cause: error,
  });
}

function unpacked(result: unknown, bytes: Uint8Array, format: Format): Buffer {
  const { buffer, engine } = result as Unpacked;
  if (engine.bytesWritten === bytes.length) return buffer;
  throw new RecordError(
    'ERR_SLUICE_DECODE_COMPRESSION',
    `decompression (${format}) failed: bytes follow its end`,
  );
}

function unpackZlib(
  { now, later }: ZlibFormat,
  bytes: Uint8Array,
  format: Format,
  maxBytes: number,
): Buffer | Promise<Buffer> {
  const options = { maxOutputLength: maxBytes, info: true } as const;
  if (bytes.length <= UNPACK_AT_ONCE_BYTES) {
    let result: unknown;
    try {
      result = now(bytes, options);
    } catch (error) {
      throw failed(error, format, maxBytes);
    }
    return unpacked(result, bytes, format);
  }
  return new Promise((resolve, reject) => {
    later(bytes, options, (error, result) => {
      if (error) return reject(failed(error, format, maxBytes));
      try {
        resolve(unpacked(result, bytes, format));
      } catch (fault) {
        reject(fault);
      }
    });
  });
}

/**
 * The unpacked bytes; the same ones where nothing says that they are packed. `contentEncoding` counts with `auto` only.
 * Throws, or rejects with, RecordError (`ERR_SLUICE_DECODE_COMPRESSION`, `_TOO_LARGE`).
 */
export function decompress(
  bytes: Uint8Array,
  compression: Compression,
  maxBytes: number,
  contentEncoding = '',
): Uint8Array | Promise<Uint8Array> {
  const format = formatOf(bytes, compression, contentEncoding);
  switch (format) {
    case undefined:
      return bytes;
    case 'gzip':
      return unpackZlib({ now: zlib.gunzipSync, later: zlib.gunzip }, bytes, format, maxBytes);
    case 'deflate':
      return unpackZlib(deflate(bytes), bytes, format, maxBytes);
    case 'br':
      return unpackZlib(
        { now: zlib.brotliDecompressSync, later: zlib.brotliDecompress },
        bytes,
        format,
        maxBytes,
      );
    case 'zstd': {
      const own = zlibZstd();
      return own
        ? unpackZlib(own, bytes, format, maxBytes)
        : unpackZstd(bytes, maxBytes, () => tooLarge(maxBytes));
    }
    case 'snappy':
      return unpackSnappy(bytes, maxBytes, () => tooLarge(maxBytes));
  }
}
