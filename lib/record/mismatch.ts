/** What of a record isn't as its schema says. */
export interface Mismatch {
  /** Where: keys and indexes from the record down; empty for the record itself. */
  readonly path: readonly (string | number)[];
  /** In the form of the dead-letter document: `Field 'temp' expected type 'float', got: "hot"`. */
  readonly message: string;
}

const MAX_SHOWN = 64;

function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  if (typeof value === 'object' && value !== null) return 'an object';
  const text = typeof value === 'string' ? JSON.stringify(value.slice(0, MAX_SHOWN + 1)) : String(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

/** `pos.lat`, `items[0].price`. */
export function fieldName(path: Mismatch['path']): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .replace(/^\./, '');
}

/** `what` follows the field: `expected type 'float'`, `must be >= 0`. */
export function mismatch(path: Mismatch['path'], what: string, value: unknown): Mismatch {
  const subject = path.length === 0 ? 'The record' : `Field '${fieldName(path)}'`;
  return { path, message: `${subject} ${what}, got: ${shown(value)}` };
}
