import { RecordError } from './record-error';
import { decodeText } from './text';

/** Reads a binary format from its first byte to its last. Every read throws RecordError past the end. */
export class ByteReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  /** Throws unless that many items of at least `size` bytes can still come: nothing is made room for on a mere claim. */
  expect(items: number, size = 1): number {
    if (items * size <= this.left) return items;
    throw new RecordError(
      'ERR_SLUICE_DECODE_SYNTAX',
      `the payload ends too early, after ${this.#bytes.length} bytes`,
    );
  }

  #next(size: number): number {
    this.expect(size);
    const at = this.#at;
    this.#at += size;
    return at;
  }

  peek(): number {
    this.expect(1);
    return this.#view.getUint8(this.#at);
  }

  uint8 = () => this.#view.getUint8(this.#next(1));
  uint16 = () => this.#view.getUint16(this.#next(2));
  uint32 = () => this.#view.getUint32(this.#next(4));
  uint64 = () => this.#view.getBigUint64(this.#next(8));
  int8 = () => this.#view.getInt8(this.#next(1));
  int16 = () => this.#view.getInt16(this.#next(2));
  int32 = () => this.#view.getInt32(this.#next(4));
  int64 = () => this.#view.getBigInt64(this.#next(8));
  float32 = () => this.#view.getFloat32(this.#next(4));
  float64 = () => this.#view.getFloat64(this.#next(8));

  /** A copy, so that a few bytes don't keep a large payload in memory. */
  bytes(length: number): Buffer {
    const at = this.#next(length);
    return Buffer.from(this.#bytes.subarray(at, at + length));
  }

  text(length: number): string {
    const at = this.#next(length);
    return decodeText(this.#bytes.subarray(at, at + length), 'utf-8');
  }

  end(): void {
    if (this.left === 0) return;
    throw new RecordError(
      'ERR_SLUICE_DECODE_SYNTAX',
      `${this.left} bytes follow the end of the payload's value`,
    );
  }
}
