import type { AlertPlace } from '../alert/alert-place';
import { Alarm } from '../alert/alarm';
import { StoreError } from '../errors/errors';
import type { Inbox } from '../inbox/contract';

/**
 * Lets the alert centre know of the runtime's inbox: its bound, and why it can't be opened or written. Gives the function
 * that opens it in place of the given one.
 */
export function alertedInbox(place: AlertPlace, open: () => Promise<Inbox>): () => Promise<Inbox> {
  let current: Inbox | undefined;
  const gauge = () => {
    const totals = current?.totals();
    return totals && { used: totals.bytes, limit: totals.quotaBytes, refusedOrEvicted: totals.refusedTotal };
  };

  const tell = (inbox: Inbox, fault: Error | undefined) => {
    const { quarantinedFile, salvaged } = inbox.totals();
    if (fault) place.raise('fault', fault);
    else place.clear('fault');
    if (quarantinedFile === undefined || fault) return;
    const { code, message } = inboxDamaged(quarantinedFile, salvaged);
    place.happened('fault', code, message);
  };

  return async () => {
    try {
      const inbox = await open();
      // Counts of another inbox say nothing about what this one refused.
      place.watch(new Alarm(gauge), 'block');
      current = inbox;
      tell(inbox, undefined);
      inbox.onHealth((fault) => tell(inbox, fault));
      return inbox;
    } catch (fault) {
      place.raise('fault', fault instanceof Error ? fault : new Error(String(fault)));
      throw fault;
    }
  };
}

/** The file was damaged and put aside; `salvaged` records could be read from it. */
export function inboxDamaged(file: string, salvaged: number): StoreError {
  return new StoreError(
    'ERR_SLUICE_INBOX_CORRUPT',
    `the inbox was damaged: ${salvaged} accepted records were saved from it, more may be in ${file}`,
  );
}
