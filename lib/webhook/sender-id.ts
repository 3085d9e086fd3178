import { SignatureError } from './signature-error';

// Ids become dedupe keys that are kept for days: long ones would be a way to fill memory.
const MAX_ID_CHARS = 256;
const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** An id that came in a header, checked for length. */
export function checkedId(id: string | undefined, header: string): string | undefined {
  if (id !== undefined && id.length > MAX_ID_CHARS) {
    throw new SignatureError(
      'malformed_header',
      `The ${header} header is longer than ${MAX_ID_CHARS} characters.`,
    );
  }
  return id;
}

/** A string property at the top of a JSON body; undefined for anything else, malformed bodies included. */
export function topLevelString(body: Uint8Array, property: string): string | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(UTF8.decode(body));
  } catch {
    return undefined;
  }
  if (typeof parsed !== 'object' || parsed === null || !Object.hasOwn(parsed, property)) return undefined;
  const value = (parsed as Record<string, unknown>)[property];
  return typeof value === 'string' && value !== '' && value.length <= MAX_ID_CHARS ? value : undefined;
}
