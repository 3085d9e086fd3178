import type { WaitingRecord } from '../delivery/contract';
import type { Message } from '../node-red/types';
import type { ListedRecord } from './contract';
import { decodeRecord } from './record-format';

/** What tells records of a flow from each other without showing their payload; a router's are among them. */
const SHOWN = ['topic', 'account', 'product', 'destination'] as const;
const MAX_CHARACTERS = 100;

function shownOf(msg: Message): Readonly<Record<string, unknown>> {
  const stamp = msg['sluice'];
  const id = typeof stamp === 'object' && stamp !== null && 'id' in stamp ? stamp.id : undefined;
  const entries: readonly (readonly [string, unknown])[] = [
    ['id', id],
    ...SHOWN.map((name) => [name, msg[name]] as const),
  ];
  const isShort = (value: unknown) => typeof value === 'string' || typeof value === 'number';
  return Object.fromEntries(
    entries
      .filter(([, value]) => isShort(value) && value !== '')
      .map(([name, value]) => [name, String(value).slice(0, MAX_CHARACTERS)]),
  );
}

/** A stored record as the admin API shows it; its message only if asked for. */
export function waitingRecord(
  { seq, state, storedAt, attempts, record }: ListedRecord,
  now: number,
  withPayload: boolean,
): WaitingRecord {
  const age = Math.max(0, Math.floor((now - storedAt) / 1000));
  const known = { seq, state, age_secs: age, attempts, bytes: record.byteLength };
  try {
    const msg = decodeRecord(record);
    return { ...known, ...shownOf(msg), ...(withPayload && { msg }) };
  } catch {
    return { ...known, unreadable: true };
  }
}
