import type { Message, NodeRED } from './types';

/**
 * The records that came of one message: it itself carries a single one; several go in a message each, with the parts by
 * which a join node puts them together again.
 */
export function spread(RED: NodeRED, msg: Message, records: readonly unknown[]): readonly Message[] {
  if (records.length === 1) {
    msg.payload = records[0];
    return [msg];
  }
  const id = RED.util.generateId();
  const { payload: _, ...rest } = msg;
  return records.map((payload, index) => ({
    ...RED.util.cloneMessage(rest),
    payload,
    parts: { id, type: 'array', count: records.length, len: 1, index },
  }));
}
