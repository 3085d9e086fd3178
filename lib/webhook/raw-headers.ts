/**
 * Reads node's raw header list. The parsed `headers` object joins or drops repeated headers depending on their name,
 * so that two readers could see two different values; here a repeat is visible.
 */
import { SignatureError } from './signature-error';

const NONE: readonly string[] = [];

/** All non-empty values of a header, in the order sent. `name` in lower case. */
export function headerValues(rawHeaders: readonly string[], name: string): readonly string[] {
  let found: string[] | undefined;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const candidate = rawHeaders[at] as string;
    // The length settles nearly all comparisons without allocating a lower-case copy.
    if (candidate.length !== name.length || candidate.toLowerCase() !== name) continue;
    const value = rawHeaders[at + 1] as string;
    if (value !== '') (found ??= []).push(value);
  }
  return found ?? NONE;
}

/** All values of a header that must be there. */
export function requiredValues(rawHeaders: readonly string[], name: string): readonly string[] {
  const values = headerValues(rawHeaders, name);
  if (values.length === 0) throw new SignatureError('missing_header', `The request has no ${name} header.`);
  return values;
}

/** The value of a header that may be sent once. Sent twice, it is ambiguous what was signed: refused. */
export function singleValue(rawHeaders: readonly string[], name: string): string | undefined {
  const values = headerValues(rawHeaders, name);
  if (values.length > 1) {
    throw new SignatureError('bad_signature', `The ${name} header was sent more than once.`);
  }
  return values[0];
}

export function requiredValue(rawHeaders: readonly string[], name: string): string {
  const value = singleValue(rawHeaders, name);
  if (value === undefined) throw new SignatureError('missing_header', `The request has no ${name} header.`);
  return value;
}
