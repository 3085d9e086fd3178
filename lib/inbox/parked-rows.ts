import { decodeRecord } from '../queue/record-format';
import type { Inbox } from './contract';
import { NOT_HANDLED, type InboxRunnerDeps } from './inbox-runner';

const PAGE = 100;

/**
 * Moves a source's parked rows to the dead letters: those that couldn't be kept there when they were given up. Rejects
 * when that can't be done now; what can't be read stays.
 */
export async function moveParked(
  inbox: Pick<Inbox, 'parked' | 'finish'>,
  source: string,
  giveUp: NonNullable<InboxRunnerDeps['giveUp']>,
): Promise<void> {
  let afterId = 0;
  for (;;) {
    const rows = await inbox.parked(PAGE, afterId);
    const last = rows.at(-1);
    if (!last) return;
    afterId = last.id;
    for (const { id, source: owner, key, acceptedAt, code, reason, record } of rows) {
      const message = owner === source ? readable(record) : undefined;
      if (!message) continue;
      await giveUp(
        { key, message, receivedAt: acceptedAt },
        { code, reason: `${NOT_HANDLED}: ${reason}` },
        undefined,
      );
      await inbox.finish(id);
    }
  }
}

function readable(record: Uint8Array) {
  try {
    return decodeRecord(record);
  } catch {
    return undefined;
  }
}
