/**
 * A copy of any value that `JSON.stringify` writes without throwing, for showing it: cycles, functions, bytes and the
 * like become words. What is too large to show is left out; `truncated` says so. Values made inside function nodes come
 * from another realm, so nothing here relies on `instanceof`.
 */
import { types } from 'node:util';

const MAX_VALUES = 1000;
const MAX_DEPTH = 20;
const MAX_TEXT = 1024;

export interface SafeValue {
  readonly value: unknown;
  readonly truncated: boolean;
}

export function safeValue(value: unknown): SafeValue {
  const copier = new Copier();
  return { value: copier.copy(value, 0), truncated: copier.truncated };
}

class Copier {
  truncated = false;
  #left = MAX_VALUES;
  readonly #parents = new Set<object>();

  copy(value: unknown, depth: number): unknown {
    this.#left -= 1;
    switch (typeof value) {
      case 'string':
        return this.#text(value);
      case 'number':
        return Number.isFinite(value) ? value : String(value);
      case 'bigint':
        return String(value);
      case 'boolean':
      case 'undefined':
        return value;
      case 'function':
      case 'symbol':
        return `[${typeof value}]`;
      case 'object':
        return value === null ? null : this.#object(value, depth);
      default:
        return undefined;
    }
  }

  #text(text: string): string {
    if (text.length <= MAX_TEXT) return text;
    this.truncated = true;
    return `${text.slice(0, MAX_TEXT)}…`;
  }

  #object(value: object, depth: number): unknown {
    if (this.#parents.has(value)) return '[circular]';
    if (depth >= MAX_DEPTH || this.#left <= 0) return this.#cut();
    if (ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value)) return `[${value.byteLength} bytes]`;
    if (types.isDate(value)) return Number.isNaN(value.getTime()) ? null : value.toISOString();
    if (types.isNativeError(value)) return `${value.name}: ${this.#text(value.message)}`;
    if (types.isMap(value) || types.isSet(value)) return this.#items([...value], value, depth);
    if (Array.isArray(value)) return this.#items(value, value, depth);
    return this.#properties(value, depth);
  }

  #items(items: readonly unknown[], parent: object, depth: number): unknown[] {
    return this.#inside(parent, () => {
      const copies: unknown[] = [];
      for (const item of items) {
        if (this.#left <= 0) {
          copies.push(this.#cut());
          break;
        }
        copies.push(this.copy(item, depth + 1) ?? null);
      }
      return copies;
    });
  }

  #properties(value: object, depth: number): Record<string, unknown> {
    return this.#inside(value, () => {
      const copy: Record<string, unknown> = {};
      for (const key of Object.keys(value)) {
        if (this.#left <= 0) {
          this.truncated = true;
          break;
        }
        Object.defineProperty(copy, this.#text(key), {
          value: this.copy(read(value, key), depth + 1),
          enumerable: true,
          configurable: true,
          writable: true,
        });
      }
      return copy;
    });
  }

  #inside<Result>(parent: object, copy: () => Result): Result {
    this.#parents.add(parent);
    try {
      return copy();
    } finally {
      this.#parents.delete(parent);
    }
  }

  #cut(): string {
    this.truncated = true;
    return '[…]';
  }
}

/** A getter may throw; showing a record must not. */
function read(object: object, key: string): unknown {
  try {
    return Reflect.get(object, key);
  } catch {
    return '[unreadable]';
  }
}
