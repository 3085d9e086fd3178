/**
 * The generic scheme's template: what is signed, as text around the body. It must have one reading only, or a sender's
 * signature over one request would also fit another: `{body}` once, and no `{id}` that could run into its neighbours.
 */
import { ConfigError } from '../errors/errors';

export interface SigningTemplate {
  readonly usesTimestamp: boolean;
  readonly usesId: boolean;
  /** Characters that an id may not contain, because they end it in the signed text. */
  readonly idTerminators: string;
  before(timestamp: string, id: string): string;
  after(timestamp: string, id: string): string;
}

const PLACEHOLDER = /\{(\w+)\}/;
type Part = { readonly literal: string } | { readonly field: string };

function invalid(message: string): ConfigError {
  return new ConfigError('ERR_SLUICE_WEBHOOK_SCHEME_INVALID', message);
}

function partsOf(template: string): Part[] {
  // With a capture group, split alternates literal, placeholder, literal…
  return template
    .split(PLACEHOLDER)
    .map((text, at): Part => (at % 2 === 0 ? { literal: text } : { field: text }))
    .filter((part) => !('literal' in part && part.literal === ''));
}

/** The characters that border `{id}`; refuses `{id}` directly beside `{body}` or another `{id}`. */
function terminatorsOf(parts: readonly Part[]): string {
  let terminators = '';
  const border = (part: Part | undefined, end: 0 | -1) => {
    if (part === undefined) return;
    if ('literal' in part) terminators += part.literal.at(end) ?? '';
    else if (part.field !== 'timestamp') {
      throw invalid('The template needs a separator between {id} and what stands beside it.');
    }
  };
  parts.forEach((part, at) => {
    if (!('field' in part) || part.field !== 'id') return;
    border(parts[at - 1], -1);
    border(parts[at + 1], 0);
  });
  return terminators;
}

function render(parts: readonly Part[]): (timestamp: string, id: string) => string {
  return (timestamp, id) =>
    parts
      .map((part) => ('literal' in part ? part.literal : part.field === 'timestamp' ? timestamp : id))
      .join('');
}

/** Throws ConfigError for an unknown placeholder, a body signed not exactly once, or an ambiguous id. */
export function parseTemplate(template: string): SigningTemplate {
  const parts = partsOf(template);
  const fields = parts.flatMap((part) => ('field' in part ? [part.field] : []));
  const unknown = fields.find((field) => !['body', 'timestamp', 'id'].includes(field));
  if (unknown !== undefined) throw invalid(`The template has an unknown placeholder {${unknown}}.`);
  if (fields.filter((field) => field === 'body').length !== 1) {
    throw invalid('The template must contain {body} once, or the signature would not cover the body.');
  }
  const bodyAt = parts.findIndex((part) => 'field' in part && part.field === 'body');
  return {
    usesTimestamp: fields.includes('timestamp'),
    usesId: fields.includes('id'),
    idTerminators: terminatorsOf(parts),
    before: render(parts.slice(0, bodyAt)),
    after: render(parts.slice(bodyAt + 1)),
  };
}
