/** What a value is that JSON leaves out or replaces without a word, undefined for all others. For `JSON.stringify`'s replacer. */
export function lostInJson(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : String(value);
  if (typeof value === 'function' || typeof value === 'symbol') return `a ${typeof value}`;
  if (value instanceof Map || value instanceof Set) return 'a Map or a Set';
  return undefined;
}
