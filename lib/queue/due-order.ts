/** Ids by due time, earliest first and by id among equals; `remove` is lazy, so an id may be put again later. */
export class DueOrder {
  readonly #heap: { readonly id: number; readonly dueAt: number }[] = [];
  readonly #dueOf = new Map<number, number>();

  get size(): number {
    return this.#dueOf.size;
  }

  put(id: number, dueAt: number): void {
    this.#dueOf.set(id, dueAt);
    const heap = this.#heap;
    heap.push({ id, dueAt });
    for (let at = heap.length - 1; at > 0;) {
      const parent = (at - 1) >> 1;
      if (!this.#before(at, parent)) break;
      this.#swap(at, parent);
      at = parent;
    }
  }

  remove(id: number): void {
    this.#dueOf.delete(id);
  }

  /** The earliest entry, if any. */
  first(): { readonly id: number; readonly dueAt: number } | undefined {
    for (;;) {
      const top = this.#heap[0];
      if (top === undefined || this.#dueOf.get(top.id) === top.dueAt) return top;
      this.#dropTop();
    }
  }

  #dropTop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    heap[0] = last;
    for (let at = 0; ;) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < heap.length && this.#before(child, least)) least = child;
      }
      if (least === at) return;
      this.#swap(at, least);
      at = least;
    }
  }

  #before(one: number, other: number): boolean {
    const a = this.#heap[one];
    const b = this.#heap[other];
    if (a === undefined || b === undefined) return false;
    return a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.id < b.id);
  }

  #swap(one: number, other: number): void {
    const a = this.#heap[one];
    const b = this.#heap[other];
    if (a === undefined || b === undefined) return;
    this.#heap[one] = b;
    this.#heap[other] = a;
  }
}
