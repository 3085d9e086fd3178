/**
 * zstd for a Node.js without it, by `fzstd`. That one takes a stream that is cut off for its end, so the frames are walked
 * first (RFC 8878, section 3). It doesn't verify checksums either: what a later Node.js would tell is missed here.
 */
import { requireOptional } from '../packages/optional-package';
import { RecordError } from './record-error';

const FZSTD = { name: 'fzstd', install: 'fzstd@0.1', neededFor: 'for zstd with a Node.js before 22.15' };
const MAGIC = 0xfd2fb528;
const SKIPPABLE_MAGIC = 0x184d2a50;
const RAW_BLOCK_HEADER = 3;

/** Throws ConfigError when the package isn't installed. */
export const loadFzstd = () => requireOptional<typeof import('fzstd')>(FZSTD);

/** Bytes of the frame's header after its magic number. */
function headerSize(descriptor: number): number {
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const window = isSingleSegment ? 0 : 1;
  const dictionary = [0, 1, 2, 4][descriptor & 3] ?? 0;
  const contentSize = [isSingleSegment ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
  return 1 + window + dictionary + contentSize;
}

/** Where the frame that begins at `start` ends, which may be past the end of the bytes. */
function endOfFrame(view: DataView, start: number): number {
  const magic = view.getUint32(start, true);
  if ((magic & 0xfffffff0) >>> 0 === SKIPPABLE_MAGIC) return start + 8 + view.getUint32(start + 4, true);
  if (magic !== MAGIC) throw new RangeError('no zstd frame');
  const descriptor = view.getUint8(start + 4);
  let at = start + 4 + headerSize(descriptor);
  for (let isLast = false; !isLast;) {
    const header = view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
    const type = (header >> 1) & 3;
    isLast = (header & 1) === 1;
    // A run is stored as the one byte that is repeated.
    at += RAW_BLOCK_HEADER + (type === 1 ? 1 : header >> 3);
  }
  return at + ((descriptor & 4) === 0 ? 0 : 4);
}

function checkFrames(bytes: Uint8Array): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    let at = 0;
    do at = endOfFrame(view, at);
    while (at < bytes.length);
    if (at === bytes.length) return;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  const text = 'decompression (zstd) failed: the payload is cut off, or is not made of zstd frames';
  throw new RecordError('ERR_SLUICE_DECODE_COMPRESSION', text);
}

/** Throws RecordError; `tooLarge` makes the one for a stream that unpacks to more than `maxBytes`. */
export function unpackZstd(bytes: Uint8Array, maxBytes: number, tooLarge: () => RecordError): Buffer {
  const { Decompress } = loadFzstd();
  checkFrames(bytes);
  const chunks: Uint8Array[] = [];
  let size = 0;
  const stream = new Decompress((chunk) => {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge();
    chunks.push(chunk);
  });
  try {
    stream.push(bytes, true);
  } catch (error) {
    if (error instanceof RecordError) throw error;
    const reason = error instanceof Error ? `: ${error.message}` : '';
    throw new RecordError('ERR_SLUICE_DECODE_COMPRESSION', `decompression (zstd) failed${reason}`, {
      cause: error,
    });
  }
  return Buffer.concat(chunks);
}
