/**
 * Finds the rows at fault in a batch that its destination refuses as a whole: halves until they stand alone. Pure; whoever
 * sends asks for the next part and says what became of it.
 *
 * With k rows at fault among n it needs at most 2 k log2(n) + 2 inserts. That holds since a part is never sent when it is
 * known to be refused: the other half of a refused part, once the first half was stored.
 */
interface Part<Row> {
  readonly rows: readonly Row[];
  /** Known to hold a row at fault. */
  isBad: boolean;
  /** The part that must hold the fault should this one be stored. */
  readonly other?: Part<Row>;
  /** Stands alone because the destination pointed at it. */
  readonly isSuspect?: boolean;
}

export class Isolation<Row> {
  readonly #waiting: Part<Row>[];
  #sent: Part<Row> | undefined;
  /** A destination that pointed at a good row once isn't asked again: each wrong hint costs an insert. */
  #trustsHints = true;

  constructor(rows: readonly Row[]) {
    this.#waiting = [{ rows, isBad: false }];
  }

  /** The rows to send now: the same again until their outcome is told. Undefined when all have one. */
  next(): readonly Row[] | undefined {
    this.#sent ??= this.#narrowed(this.#waiting.pop());
    return this.#sent?.rows;
  }

  /** All rows that have no outcome yet, in their order as far as it still matters. */
  rest(): readonly Row[] {
    return [...(this.#sent?.rows ?? []), ...this.#waiting.toReversed().flatMap(({ rows }) => rows)];
  }

  stored(): void {
    if (this.#sent?.isSuspect) this.#trustsHints = false;
    if (this.#sent?.other) this.#sent.other.isBad = true;
    this.#sent = undefined;
  }

  /** These rows of the part that was sent can't be stored, the others weren't. */
  without(faulty: ReadonlySet<Row>): void {
    const part = this.#sent;
    this.#sent = undefined;
    const rows = part?.rows.filter((row) => !faulty.has(row)) ?? [];
    if (rows.length > 0) this.#waiting.push({ rows, isBad: false });
  }

  /**
   * The part was refused for its data; `hint` is the index in it at which the destination saw the fault. Gives the row at
   * fault if the part was a single one.
   */
  refused(hint?: number): Row | undefined {
    const part = this.#sent;
    this.#sent = undefined;
    if (!part) return undefined;
    const [only] = part.rows;
    if (part.rows.length === 1) return only;
    const suspect = hint !== undefined && this.#trustsHints ? part.rows[hint] : undefined;
    if (suspect === undefined) {
      this.#waiting.push({ ...part, isBad: true });
      return undefined;
    }
    const others = { rows: part.rows.filter((row) => row !== suspect), isBad: false };
    this.#waiting.push(others, { rows: [suspect], isBad: false, other: others, isSuspect: true });
    return undefined;
  }

  /** Halves a part that would be refused again, until there is one worth sending. */
  #narrowed(part: Part<Row> | undefined): Part<Row> | undefined {
    let narrowed = part;
    while (narrowed?.isBad && narrowed.rows.length > 1) {
      const middle = narrowed.rows.length >> 1;
      const second = { rows: narrowed.rows.slice(middle), isBad: false };
      this.#waiting.push(second);
      narrowed = { rows: narrowed.rows.slice(0, middle), isBad: false, other: second };
    }
    return narrowed;
  }
}
