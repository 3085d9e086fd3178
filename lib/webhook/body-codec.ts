/** From a request's raw body to the payload a flow sees. Pure. */
import { TextDecoder } from 'node:util';
import { InputError } from '../errors/errors';
import { parseJson } from '../record/json';
import { RecordError } from '../record/record-error';

export const BODY_CODECS = ['json', 'form', 'text', 'buffer'] as const;
export type BodyCodec = (typeof BODY_CODECS)[number];

const PLAIN = /^\s*(identity)?\s*$/i;
const CHARSET = /;\s*charset\s*=\s*"?([^\s;"]+)"?/i;

function textOf(body: Uint8Array, contentType: string | undefined): string {
  const charset = contentType === undefined ? undefined : CHARSET.exec(contentType)?.[1];
  let decoder: TextDecoder;
  try {
    decoder = new TextDecoder(charset ?? 'utf-8', { fatal: true });
  } catch (cause) {
    throw new InputError('ERR_SLUICE_BODY_CHARSET', 'The body is in a charset that is not known here.', {
      cause,
    });
  }
  try {
    return decoder.decode(body);
  } catch (cause) {
    throw new InputError('ERR_SLUICE_BODY_NOT_TEXT', `The body is not valid ${decoder.encoding}.`, { cause });
  }
}

/** By the rules of record-decode; only that a key `__proto__` is data here, since our queues keep it as such. */
function parseBody(body: Uint8Array, contentType: string | undefined): unknown {
  const text = textOf(body, contentType);
  try {
    return parseJson(text, { takesProto: true });
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    throw new InputError('ERR_SLUICE_BODY_NOT_JSON', `${error.message.replace('the payload', 'The body')}.`);
  }
}

/** Fields by name, a repeated one as a list. Own properties only, so a field `__proto__` is a field like any other. */
function parseForm(text: string): Record<string, string | string[]> {
  const fields = new Map<string, string | string[]>();
  for (const [name, value] of new URLSearchParams(text)) {
    const earlier = fields.get(name);
    if (earlier === undefined) fields.set(name, value);
    else if (typeof earlier === 'string') fields.set(name, [earlier, value]);
    else earlier.push(value);
  }
  return Object.fromEntries(fields);
}

/** Throws InputError (`ERR_SLUICE_BODY_…`): the sender will never get this body through. */
export function decodeBody(
  codec: BodyCodec,
  body: Uint8Array,
  contentType?: string,
  contentEncoding = 'identity',
): unknown {
  if (codec !== 'buffer' && !PLAIN.test(contentEncoding)) {
    throw new InputError('ERR_SLUICE_BODY_ENCODING', 'The body is compressed; it is only taken as it is.');
  }
  switch (codec) {
    case 'json':
      return parseBody(body, contentType);
    case 'form':
      return parseForm(textOf(body, contentType));
    case 'text':
      return textOf(body, contentType);
    case 'buffer':
      return Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  }
}
