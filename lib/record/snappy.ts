/**
 * Snappy's raw block format, after https://github.com/google/snappy/blob/main/format_description.txt: what Kafka,
 * Prometheus and most libraries' `compress` write. The framed stream format is another one.
 */
import { RecordError } from './record-error';

const damaged = () =>
  new RecordError('ERR_SLUICE_DECODE_COMPRESSION', 'the payload is not a whole snappy block');

/** The length that the block claims to unpack to, and where its elements begin. */
function header(bytes: Uint8Array): { length: number; at: number } {
  let length = 0;
  for (let at = 0; at < 5; at += 1) {
    const byte = bytes[at];
    if (byte === undefined) throw damaged();
    length += (byte & 0x7f) * 2 ** (7 * at);
    if (byte < 0x80) return { length, at: at + 1 };
  }
  throw damaged();
}

function littleEndian(bytes: Uint8Array, at: number, size: number): number {
  if (at + size > bytes.length) throw damaged();
  let value = 0;
  for (let index = size - 1; index >= 0; index -= 1) value = value * 256 + (bytes[at + index] ?? 0);
  return value;
}

/** `tooLarge` makes the error for a block that claims more than `maxBytes`, before room is made for it. */
export function unpackSnappy(bytes: Uint8Array, maxBytes: number, tooLarge: () => RecordError): Uint8Array {
  const { length, at: start } = header(bytes);
  if (length > maxBytes) throw tooLarge();
  const output = Buffer.alloc(length);
  let at = start;
  let written = 0;
  while (at < bytes.length) {
    const tag = bytes[at] ?? 0;
    at += 1;
    const upper = tag >> 2;
    if ((tag & 3) === 0) {
      const extra = upper < 60 ? 0 : upper - 59;
      const size = (extra === 0 ? upper : littleEndian(bytes, at, extra)) + 1;
      at += extra;
      if (at + size > bytes.length || written + size > length) throw damaged();
      output.set(bytes.subarray(at, at + size), written);
      at += size;
      written += size;
      continue;
    }
    const extra = [0, 1, 2, 4][tag & 3] ?? 0;
    const low = littleEndian(bytes, at, extra);
    at += extra;
    const offset = extra === 1 ? ((tag >> 5) << 8) | low : low;
    const size = extra === 1 ? ((tag >> 2) & 7) + 4 : upper + 1;
    if (offset === 0 || offset > written || written + size > length) throw damaged();
    // Source and target may overlap: that is how a run is written.
    for (let index = 0; index < size; index += 1)
      output[written + index] = output[written - offset + index] ?? 0;
    written += size;
  }
  if (written !== length) throw damaged();
  return output;
}
