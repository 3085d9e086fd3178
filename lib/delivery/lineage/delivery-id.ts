import { hash } from 'node:crypto';

/**
 * Ids of the deliveries of one record: the same parts give the same ids on every attempt, in whatever order they
 * arrive; equal parts at one sink are told apart by counting them.
 */
export class DeliveryIds {
  private readonly seen = new Map<string, number>();

  constructor(private readonly origin: string) {}

  /** 64 hexadecimal digits. `merged`: the origins of further records that are in the message, or none. */
  next(sinkId: string, bytes: Uint8Array, merged: readonly string[] = []): string {
    const others = merged.length > 0 ? `\n${JSON.stringify(merged)}` : '';
    const part = `${sinkId}\n${hash('sha256', bytes, 'hex')}${others}`;
    const occurrence = this.seen.get(part) ?? 0;
    this.seen.set(part, occurrence + 1);
    return hash('sha256', `${part}\n${occurrence}\n${this.origin}`, 'hex');
  }
}
