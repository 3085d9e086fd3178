/**
 * The stored form of a record:
 *
 *     u8 version = 1 · u8 header form · u8 payload form · u8 0 · u32le header length · header · payload
 *
 * The header is the message as JSON, without `payload`, `req`, `res` and `_msgid`. The payload is stored as what it is:
 * bytes raw, text as UTF-8, anything else as JSON, so that a sink can pass it on without parsing. Either JSON is plain
 * or tagged (see tagged-json.ts); its form says which.
 */
import { DeliveryError, StoreError } from '../errors/errors';
import type { Message } from '../node-red/types';
import { fromTagged, isPlain, toTagged, Unserialisable } from './tagged-json';

const VERSION = 1;
const PREFIX_BYTES = 8;

const Form = { absent: 0, json: 1, tagged: 2, text: 3, buffer: 4, uint8: 5 } as const;

/** A payload as it was stored. `json` is plain JSON in UTF-8, `text` is UTF-8, `absent` has no bytes. */
export interface StoredPayload {
  readonly form: 'absent' | 'json' | 'text' | 'bytes';
  readonly bytes: Uint8Array;
}

/** A payload in its stored form; text is to be written as UTF-8. */
export type Body = readonly [form: number, content: string | Uint8Array];

/** The payload's part of `encodeRecord`, for who wants to see it first. Throws as that does. */
export function encodeBody(payload: unknown): Body {
  try {
    return toStored(payload);
  } catch (cause) {
    throw unserialisable({ payload }, cause);
  }
}

/**
 * Writes a message for storing. Throws DeliveryError, permanent, ERR_SLUICE_RECORD_UNSERIALISABLE, for what can't be
 * stored: cycles, functions, symbols. Properties that are undefined are left out.
 */
export function encodeRecord(msg: Message, [form, content] = encodeBody(msg.payload)): Buffer {
  const { payload: _payload, req: _req, res: _res, _msgid, ...header } = msg;
  try {
    return assemble(...toJson(header), form, content);
  } catch (cause) {
    throw unserialisable(header, cause);
  }
}

function toJson(value: unknown): [form: number, json: string] {
  if (isPlain(value)) return [Form.json, JSON.stringify(value)];
  return [Form.tagged, JSON.stringify(toTagged(value))];
}

function toStored(payload: unknown): Body {
  if (payload === undefined) return [Form.absent, ''];
  if (payload instanceof Uint8Array) return [Buffer.isBuffer(payload) ? Form.buffer : Form.uint8, payload];
  // UTF-8 can't say a lone surrogate, JSON can.
  if (typeof payload === 'string' && !/\p{Surrogate}/u.test(payload)) return [Form.text, payload];
  return toJson(payload);
}

function assemble(
  headerForm: number,
  header: string,
  payloadForm: number,
  body: string | Uint8Array,
): Buffer {
  const headerBytes = Buffer.byteLength(header);
  const bodyBytes = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
  const record = Buffer.allocUnsafe(PREFIX_BYTES + headerBytes + bodyBytes);
  record[0] = VERSION;
  record[1] = headerForm;
  record[2] = payloadForm;
  record[3] = 0;
  record.writeUInt32LE(headerBytes, 4);
  record.write(header, PREFIX_BYTES, 'utf8');
  if (typeof body === 'string') record.write(body, PREFIX_BYTES + headerBytes, 'utf8');
  else record.set(body, PREFIX_BYTES + headerBytes);
  return record;
}

function unserialisable(properties: Record<string, unknown>, cause: unknown): DeliveryError {
  const culprit = Object.keys(properties).find((name) => {
    try {
      toTagged(properties[name] ?? null);
      return false;
    } catch {
      return true;
    }
  });
  const why = cause instanceof Unserialisable ? cause.message : 'cannot be written as JSON';
  return new DeliveryError(
    'ERR_SLUICE_RECORD_UNSERIALISABLE',
    `msg${culprit === undefined ? '' : `.${culprit}`} ${why}: remove it before the queue, for example with a change node`,
    { failure: 'permanent', cause },
  );
}

/** The message of a stored record; bytes in it are copies. Throws StoreError for another version and for damage. */
export function decodeRecord(bytes: Uint8Array): Message {
  const { record, headerForm, payloadForm, bodyAt } = open(bytes);
  try {
    const msg = fromJson(headerForm, record.toString('utf8', PREFIX_BYTES, bodyAt)) as Message;
    const payload = fromStored(payloadForm, record.subarray(bodyAt));
    if (payloadForm !== Form.absent) msg.payload = payload;
    return msg;
  } catch (cause) {
    throw damaged(cause);
  }
}

function fromJson(form: number, json: string): unknown {
  if (form === Form.json) return JSON.parse(json);
  if (form === Form.tagged) return fromTagged(JSON.parse(json));
  throw new Error(`unknown form ${form}`);
}

function fromStored(form: number, body: Buffer): unknown {
  if (form === Form.absent) return undefined;
  if (form === Form.text) return body.toString('utf8');
  if (form === Form.buffer) return Buffer.from(body);
  if (form === Form.uint8) return Uint8Array.from(body);
  return fromJson(form, body.toString('utf8'));
}

/**
 * The payload's bytes, a view into the record, without parsing. Only a payload that plain JSON can't say (dates, bytes
 * inside) is written anew, as `JSON.stringify` has it. Throws StoreError as `decodeRecord` does.
 */
export function payloadOf(bytes: Uint8Array): StoredPayload {
  const { record, payloadForm, bodyAt } = open(bytes);
  const body = record.subarray(bodyAt);
  switch (payloadForm) {
    case Form.absent:
      return { form: 'absent', bytes: body };
    case Form.json:
      return { form: 'json', bytes: body };
    case Form.text:
      return { form: 'text', bytes: body };
    case Form.buffer:
    case Form.uint8:
      return { form: 'bytes', bytes: body };
    default:
      return { form: 'json', bytes: Buffer.from(plainJson(decodeRecord(bytes).payload)) };
  }
}

function plainJson(value: unknown): string {
  const json = JSON.stringify(value, (_, item: unknown) => (typeof item === 'bigint' ? String(item) : item));
  return json ?? 'null';
}

function open(bytes: Uint8Array) {
  const record = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (record.length < PREFIX_BYTES) throw damaged(new Error('shorter than its prefix'));
  if (record[0] !== VERSION) {
    throw new StoreError(
      'ERR_SLUICE_RECORD_VERSION',
      `a record was stored in format ${record[0]}, this version reads ${VERSION}: install the version that stored it, or a newer one`,
    );
  }
  const bodyAt = PREFIX_BYTES + record.readUInt32LE(4);
  if (bodyAt > record.length) throw damaged(new Error('its header is cut off'));
  return { record, headerForm: record[1] ?? 0, payloadForm: record[2] ?? 0, bodyAt };
}

function damaged(cause: unknown): StoreError {
  return new StoreError(
    'ERR_SLUICE_RECORD_DAMAGED',
    'a stored record cannot be read: check the disk, and look at the file with sluice queue check',
    { cause },
  );
}
