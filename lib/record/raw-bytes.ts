import type { Message } from '../node-red/types';

/** Registered, so that another copy of this package finds what this one left. */
const RAW = Symbol.for('@sluice/node-red/raw');
/** As much of a payload as an entry of the dead letters shows, and one byte more: by that it knows that it was cut. */
const MAX_RAW_BYTES = 4097;
/** A slice keeps the whole payload in memory. */
const MAX_KEPT_BYTES = 65_536;

type Carrier = Message & { [RAW]?: Uint8Array };

/**
 * Leaves the beginning of what a record came as with its message, for the dead letters of later stages. Under a symbol:
 * it travels through Node-RED's cloning, and isn't seen, sent or stored with the message.
 */
export function leaveRaw(msg: Message, bytes: Uint8Array): void {
  const start = bytes.subarray(0, MAX_RAW_BYTES);
  (msg as Carrier)[RAW] = bytes.byteLength > MAX_KEPT_BYTES ? Uint8Array.from(start) : start;
}

/** The bytes that a record came as, where they are known: `msg.raw` of a source, what a decoder left, or the payload. */
export function rawOf(msg: Message): Uint8Array | undefined {
  const { raw, payload } = msg;
  if (raw instanceof Uint8Array) return raw;
  const left = (msg as Carrier)[RAW];
  if (left) return left;
  if (payload instanceof Uint8Array) return payload;
  return typeof payload === 'string' ? Buffer.from(payload) : undefined;
}
