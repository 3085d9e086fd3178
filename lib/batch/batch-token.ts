import { createHash } from 'node:crypto';

/** What identifies a batch: the same deliveries in the same order have the same token, 64 hexadecimal digits. */
export function batchToken(deliveryIds: readonly string[]): string {
  return createHash('sha256').update(deliveryIds.join('\n')).digest('hex');
}
