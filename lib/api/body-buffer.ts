/** Room for bodies that are being read and not authenticated yet, shared by all sources. Bytes. */
export interface BodyBudget {
  reserve(bytes: number): boolean;
  free(bytes: number): void;
}

const LEAST_BYTES = 512;

/**
 * A body that comes in pieces, in one growing buffer. A list of the pieces would cost hundreds of bytes for each, and a
 * sender may make them one byte long. What is reserved in the budget is what the buffer takes.
 */
export class BodyBuffer {
  #buffer: Buffer = Buffer.alloc(0);
  #size = 0;
  #reserved = 0;

  constructor(
    private readonly maxBytes: number,
    private readonly budget: BodyBudget,
  ) {}

  get size(): number {
    return this.#size;
  }

  /** False when the budget has no room for the piece: then it isn't added. */
  add(piece: Buffer): boolean {
    const size = this.#size + piece.length;
    if (size > this.#buffer.length) {
      // Most bodies come in one piece, which is kept as it is.
      const wanted = this.#size === 0 ? size : Math.max(size, this.#size * 2, LEAST_BYTES);
      const capacity = Math.max(size, Math.min(wanted, this.maxBytes));
      if (!this.budget.reserve(capacity - this.#reserved)) return false;
      this.#reserved = capacity;
      if (this.#size === 0) this.#buffer = piece;
      else {
        const grown = Buffer.allocUnsafeSlow(capacity);
        this.#buffer.copy(grown, 0, 0, this.#size);
        this.#buffer = grown;
      }
    }
    if (this.#size > 0) piece.copy(this.#buffer, this.#size);
    this.#size = size;
    return true;
  }

  /** The body so far. Its room in the budget is given back, and the buffer begins anew. */
  take(): Buffer {
    const body = this.#buffer.subarray(0, this.#size);
    this.budget.free(this.#reserved);
    this.#buffer = Buffer.alloc(0);
    this.#size = this.#reserved = 0;
    return body;
  }
}
