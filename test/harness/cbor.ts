/**
 * Writes CBOR in the preferred form of RFC 8949, apart from the reader under test: `test/unit/record-binary.test.ts`
 * compares it with the examples of that document.
 */
export function writeCbor(value: unknown): Buffer {
  if (value === null) return Buffer.of(0xf6);
  if (typeof value === 'boolean') return Buffer.of(value ? 0xf5 : 0xf4);
  if (typeof value === 'bigint') return value < 0n ? head(1, -1n - value) : head(0, value);
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? writeCbor(BigInt(value)) : double(value);
  if (typeof value === 'string')
    return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value]);
  if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(writeCbor)]);
  const entries = value instanceof Map ? [...value] : Object.entries(value as object);
  return Buffer.concat([head(5, entries.length), ...entries.flat().map(writeCbor)]);
}

function double(value: number): Buffer {
  const bytes = Buffer.alloc(9, 0xfb);
  bytes.writeDoubleBE(value, 1);
  return bytes;
}

/** A major type of three bits and its argument, in the fewest bytes. */
function head(major: number, argument: number | bigint): Buffer {
  const number = BigInt(argument);
  if (number < 24n) return Buffer.of((major << 5) | Number(number));
  const size = [1, 2, 4, 8].find((bytes) => number < 1n << BigInt(8 * bytes)) ?? 8;
  const bytes = Buffer.from(number.toString(16).padStart(2 * size, '0'), 'hex');
  return Buffer.concat([Buffer.of((major << 5) | (24 + Math.log2(size))), bytes]);
}
