import { describe, expect, it } from 'vitest';
import { StoreError } from '#lib/errors/errors';
import type { Inbox } from '#lib/inbox/contract';
import { alertedInbox } from '#lib/node-red/inbox-alerts';
import { SharedInbox } from '#lib/node-red/shared-inbox';
import { SourceInbox } from '#lib/node-red/source-inbox';
import { alertsFor } from '../harness/alerts';
import { waitFor } from '../harness/wait';

const locked = new StoreError('ERR_SLUICE_INBOX_LOCKED', 'locked');

/** An inbox that only opens and closes, and says how it is. */
function fakeInbox(quarantinedFile?: string) {
  const listeners = new Set<(fault: Error | undefined) => void>();
  const state = { closed: false };
  const inbox = {
    totals: () => ({ quarantinedFile, salvaged: 3, bytes: 0, quotaBytes: 1000, refusedTotal: 0 }),
    onHealth(listener: (fault: Error | undefined) => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      state.closed = true;
      return Promise.resolve();
    },
  } as unknown as Inbox;
  const tell = (fault: Error | undefined) => listeners.forEach((listener) => listener(fault));
  return { inbox, state, tell, listeners };
}

describe('the inbox that sources share', () => {
  it('is opened once for all, and closed when the last has left', async () => {
    const { inbox, state } = fakeInbox();
    let opens = 0;
    const shared = new SharedInbox(() => {
      opens += 1;
      return Promise.resolve(inbox);
    });
    const [first, second] = [shared.claim(() => undefined), shared.claim(() => undefined)];
    expect(await Promise.all([first.opened, second.opened])).toEqual([inbox, inbox]);
    await first.release(undefined);
    await first.release(undefined);
    expect(state.closed).toBe(false);
    await second.release(undefined);
    expect([opens, state.closed]).toEqual([1, true]);
  });

  it('tells all that it cannot be opened, one that comes later at once, and opens for them when it can', async () => {
    const { inbox } = fakeInbox();
    let isLocked = true;
    const shared = new SharedInbox(() => (isLocked ? Promise.reject(locked) : Promise.resolve(inbox)));
    const told: string[] = [];
    const first = shared.claim(({ message }) => told.push(`first ${message}`));
    await waitFor('the failure', () => told.length === 1);
    const second = shared.claim(({ message }) => told.push(`second ${message}`));
    expect(told).toEqual(['first locked', 'second locked']);
    isLocked = false;
    expect(await Promise.all([first.opened, second.opened])).toEqual([inbox, inbox]);
    const third = shared.claim(({ message }) => told.push(`third ${message}`));
    await third.opened;
    expect(told).toHaveLength(2);
    await Promise.all([first, second, third].map((claim) => claim.release(undefined)));
  });

  it('N13 is tried at once for the source that a deploy puts in the place of one that waited', async () => {
    const { inbox } = fakeInbox();
    let isLocked = true;
    const shared = new SharedInbox(() => (isLocked ? Promise.reject(locked) : Promise.resolve(inbox)));
    let faults = 0;
    const first = shared.claim(() => (faults += 1));
    await waitFor('the failure', () => faults === 1);
    await first.release(undefined);
    await expect(first.opened).rejects.toBe(locked);
    isLocked = false;
    const second = shared.claim(() => (faults += 1));
    expect(await second.opened).toBe(inbox);
    expect(faults).toBe(1);
    await second.release(undefined);
  });

  it('N13 stays open for records on their way, and for a source that takes it over meanwhile', async () => {
    const { inbox, state } = fakeInbox();
    const shared = new SharedInbox(() => Promise.resolve(inbox));
    const first = shared.claim(() => undefined);
    await first.opened;
    let end: () => void = () => undefined;
    await first.release(new Promise<void>((resolve) => (end = resolve)));
    expect(state.closed).toBe(false);
    const second = shared.claim(() => undefined);
    end();
    expect(await second.opened).toBe(inbox);
    await new Promise((resolve) => setImmediate(resolve));
    expect(state.closed).toBe(false);
    await second.release(undefined);
    expect(state.closed).toBe(true);
  });

  it('N13 stays open across a deploy for the source that it brings, and is closed when it brings none', async () => {
    const { inbox, state } = fakeInbox();
    let end: () => void = () => undefined;
    let deploy: Promise<void> | undefined;
    let opens = 0;
    const open = () => {
      opens += 1;
      return Promise.resolve(inbox);
    };
    const begin = () => (deploy = new Promise<void>((resolve) => (end = resolve)));
    const shared = new SharedInbox(open, () => deploy);
    const first = shared.claim(() => undefined);
    await first.opened;
    void begin();
    await first.release(undefined);
    const second = shared.claim(() => undefined);
    end();
    expect(await second.opened).toBe(inbox);
    void begin();
    await second.release(undefined);
    await new Promise((resolve) => setImmediate(resolve));
    expect([opens, state.closed]).toEqual([1, false]);
    end();
    await waitFor('the file to be closed', () => state.closed);
  });
});

describe("a source's use of the inbox", () => {
  function use(open: () => Promise<Inbox>) {
    const { centre, log } = alertsFor();
    const place = centre.place({ id: 'inbox', name: 'the inbox', type: 'sluice' });
    const access = new SourceInbox(new SharedInbox(alertedInbox(place, open)), () => undefined);
    return { access, log, centre };
  }

  it('knows the reason it cannot be used, which is logged once', async () => {
    const { inbox, tell, listeners } = fakeInbox();
    const { access, log } = use(() => Promise.resolve(inbox));
    await access.opened;
    await access.tried;
    expect([log, access.fault]).toEqual([[], undefined]);
    const full = new StoreError('ERR_SLUICE_INBOX_DISK_FULL', 'no room');
    for (let time = 0; time < 3; time += 1) tell(full);
    expect(access.fault).toBe(full);
    tell(undefined);
    expect(access.fault).toBeUndefined();
    expect(log).toEqual(['critical the inbox: no room (ERR_SLUICE_INBOX_DISK_FULL)']);
    const [before] = [listeners.size];
    await access.release(undefined);
    expect(listeners.size).toBe(before - 1);
  });

  it('knows that it was tried once the first try has failed', async () => {
    const { access, log } = use(() => Promise.reject(locked));
    await access.tried;
    expect(access.fault).toBe(locked);
    await access.release(undefined);
    await expect(access.opened).rejects.toBe(locked);
    expect(log).toEqual(['critical the inbox: locked (ERR_SLUICE_INBOX_LOCKED)']);
  });

  it('N8 reports a file that was damaged, with what was saved of it', async () => {
    const { inbox } = fakeInbox('/data/inbox.db.corrupt-1');
    const { access, log } = use(() => Promise.resolve(inbox));
    await access.opened;
    expect(access.fault).toMatchObject({ code: 'ERR_SLUICE_INBOX_CORRUPT' });
    expect(log).toEqual([expect.stringMatching(/3 accepted records .*inbox\.db\.corrupt-1.*CORRUPT/)]);
    await access.release(undefined);
  });
});
