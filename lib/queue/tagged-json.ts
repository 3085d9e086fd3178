/**
 * JSON that also keeps what messages carry and JSON can't say: bytes, dates, bigints, maps, sets, errors, NaN.
 *
 * Such a value is written as an object with one key that starts with `$s:`. A user's own key that starts so is written
 * with `$s:=` before it, so that no data can forge a tag. Values made inside function nodes come from another realm:
 * nothing here relies on `instanceof`.
 */
import { types } from 'node:util';

const TAG = '$s:';
const ESCAPED = '$s:=';
/** Deeper data is refused: it would overflow the stack of whoever walks it next. A cycle ends here too. */
const MAX_DEPTH = 1000;

/** A value cannot be stored; the message says why, in words for the operator. */
export class Unserialisable extends Error {}

/** What was stored isn't what this version writes. */
export class BadTag extends Error {}

type Properties = Record<string, unknown>;

const VIEWS: Readonly<Record<string, new (buffer: ArrayBuffer) => ArrayBufferView>> = {
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
  DataView,
};

/** Whether `JSON.stringify` alone keeps the value. Most records are, and this costs a fraction of writing them. */
export function isPlain(value: unknown, depth = 0): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true;
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0);
    case 'object':
      break;
    default:
      return false;
  }
  if (value === null) return true;
  if (depth > MAX_DEPTH) return false;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) if (!isPlain(value[index], depth + 1)) return false;
    return true;
  }
  if (!isPlainObject(value)) return false;
  for (const key in value) {
    const property = value[key];
    if (property === undefined) continue;
    if (key.startsWith(TAG) || !isPlain(property, depth + 1)) return false;
  }
  return true;
}

/** An object literal of any realm: its prototype is the root of a prototype chain. */
function isPlainObject(value: object): value is Properties {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** `object[key] = value`, also for the key `__proto__`. */
function put(object: Properties, key: string, value: unknown): void {
  if (key !== '__proto__') object[key] = value;
  else Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}

/** A copy that `JSON.stringify` writes without loss. Throws Unserialisable. */
export function toTagged(value: unknown, depth = 0): unknown {
  if (depth > MAX_DEPTH) throw new Unserialisable(`is circular or nested deeper than ${MAX_DEPTH} levels`);
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'undefined':
      return { [`${TAG}undefined`]: 1 };
    case 'number':
      if (Object.is(value, -0)) return { [`${TAG}number`]: '-0' };
      return Number.isFinite(value) ? value : { [`${TAG}number`]: String(value) };
    case 'bigint':
      return { [`${TAG}bigint`]: String(value) };
    case 'object':
      return value === null ? null : objectToTagged(value, depth);
    default:
      throw new Unserialisable(`is or contains a ${typeof value}`);
  }
}

function objectToTagged(value: object, depth: number): unknown {
  if (Array.isArray(value)) return Array.from(value, (item) => toTagged(item, depth + 1));
  if (ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value)) {
    return { [`${TAG}bytes`]: [bytesType(value), toBase64(value)] };
  }
  if (types.isDate(value)) return { [`${TAG}date`]: value.getTime() };
  if (types.isMap(value)) return { [`${TAG}map`]: toTagged([...value], depth + 1) };
  if (types.isSet(value)) return { [`${TAG}set`]: toTagged([...value], depth + 1) };
  if (types.isRegExp(value)) return { [`${TAG}regexp`]: [value.source, value.flags] };
  if (types.isNativeError(value)) {
    const { name, message, stack = '' } = value;
    return { [`${TAG}error`]: [name, message, stack, propertiesToTagged({ ...value }, depth)] };
  }
  if (types.isBoxedPrimitive(value)) return toTagged(value.valueOf(), depth + 1);
  if (writesItself(value)) return toTagged(value.toJSON(), depth + 1);
  return propertiesToTagged(value as Properties, depth);
}

function writesItself(value: object): value is { toJSON(): unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}

function propertiesToTagged(value: Properties, depth: number): Properties {
  const copy: Properties = {};
  for (const key of Object.keys(value)) {
    const property = value[key];
    if (property === undefined) continue;
    put(copy, key.startsWith(TAG) ? ESCAPED + key : key, toTagged(property, depth + 1));
  }
  return copy;
}

function bytesType(value: ArrayBufferView | ArrayBufferLike): string {
  if (Buffer.isBuffer(value)) return 'Buffer';
  return Object.prototype.toString.call(value).slice('[object '.length, -1);
}

function toBase64(value: ArrayBufferView | ArrayBufferLike): string {
  const bytes = ArrayBuffer.isView(value)
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    : Buffer.from(value);
  return bytes.toString('base64');
}

/** The value that `toTagged` was given; consumes its argument. Throws BadTag. */
export function fromTagged(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(fromTagged);
  const keys = Object.keys(value);
  const [first] = keys;
  if (keys.length === 1 && first?.startsWith(TAG) && !first.startsWith(ESCAPED)) {
    return untag(first.slice(TAG.length), (value as Properties)[first]);
  }
  const copy: Properties = {};
  for (const key of keys) {
    put(
      copy,
      key.startsWith(ESCAPED) ? key.slice(ESCAPED.length) : key,
      fromTagged((value as Properties)[key]),
    );
  }
  return copy;
}

function untag(tag: string, content: unknown): unknown {
  switch (tag) {
    case 'undefined':
      return undefined;
    case 'number':
      return Number(content);
    case 'bigint':
      return BigInt(String(content));
    case 'date':
      return new Date(content === null ? NaN : Number(content));
    case 'map':
      return new Map(fromTagged(content) as [unknown, unknown][]);
    case 'set':
      return new Set(fromTagged(content) as unknown[]);
    case 'bytes':
      return bytesFrom(content as [string, string]);
    case 'regexp':
      return new RegExp(...(content as [string, string]));
    case 'error':
      return errorFrom(content as [string, string, string, Properties]);
    default:
      throw new BadTag(`unknown tag ${tag}`);
  }
}

function bytesFrom([type, base64]: [string, string]): unknown {
  const bytes = Buffer.from(base64, 'base64');
  if (type === 'Buffer') return bytes;
  const own = Uint8Array.from(bytes).buffer;
  if (type === 'ArrayBuffer' || type === 'SharedArrayBuffer') return own;
  const View = Object.hasOwn(VIEWS, type) ? VIEWS[type] : undefined;
  if (!View) throw new BadTag(`unknown bytes ${type}`);
  return new View(own);
}

function errorFrom([name, message, stack, properties]: [string, string, string, Properties]): Error {
  const error = new Error(message);
  const hidden = { enumerable: false, configurable: true, writable: true };
  if (name !== 'Error') Object.defineProperty(error, 'name', { value: name, ...hidden });
  Object.defineProperty(error, 'stack', { value: stack, ...hidden });
  return Object.assign(error, fromTagged(properties));
}
