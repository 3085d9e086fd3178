import { newTally } from '#lib/delivery/ledger';
import { beforeEach, describe, expect, it } from 'vitest';
import { refuse, type Admission } from '#lib/delivery/admission';
import type { Hold } from '#lib/delivery/contract';
import type { IncomingRecord, TrackedRecord } from '#lib/delivery/entry';
import { DONE, type Verdict } from '#lib/delivery/verdict';
import type { Inbox, InboxRow } from '#lib/inbox/contract';
import { InboxRunner, type InboxRunnerOptions } from '#lib/inbox/inbox-runner';
import { encodeRecord } from '#lib/queue/record-format';
import { Quota } from '#lib/quota/quota';
import { waitFor } from '../harness/wait';

interface Row extends InboxRow {
  attempts: number;
  state: 'pending' | 'running' | 'parked';
  code?: string;
}

type Call = 'accept' | 'startAttempt' | 'finish' | 'park' | 'pending';

/** An inbox in memory whose calls fail or wait as a test says. */
class FakeInbox {
  readonly rows = new Map<number, Row>();
  readonly calls: Call[] = [];
  readonly failing = new Set<Call>();
  before: (call: Call) => Promise<void> | void = () => undefined;
  #nextId = 1;

  add(key: string, attempts = 0, record: Uint8Array = encodeRecord({ payload: key })): number {
    const id = this.#nextId++;
    this.rows.set(id, { id, source: 's', key, acceptedAt: 1, attempts, record, state: 'pending' });
    return id;
  }
  async #call(call: Call): Promise<void> {
    this.calls.push(call);
    await this.before(call);
    await Promise.resolve();
    if (this.failing.has(call)) throw new Error(`no ${call}`);
  }
  async accept({ key, record, started }: { key: string; record: Uint8Array; started: boolean }) {
    await this.#call('accept');
    const id = this.add(key, started ? 1 : 0, record);
    if (started) this.#row(id).state = 'running';
    return id;
  }
  async startAttempt(id: number) {
    await this.#call('startAttempt');
    const row = this.rows.get(id);
    if (!row) return undefined;
    row.state = 'running';
    return (row.attempts += 1);
  }
  release(id: number) {
    const row = this.rows.get(id);
    if (row) Object.assign(row, { state: 'pending', attempts: 0 });
  }
  async finish(id: number) {
    await this.#call('finish');
    this.rows.delete(id);
  }
  async park(id: number, { code }: { code: string }) {
    await this.#call('park');
    Object.assign(this.#row(id), { state: 'parked', code });
  }
  async pending(_source: string, limit: number) {
    await this.#call('pending');
    return [...this.rows.values()]
      .filter(({ state }) => state === 'pending')
      .slice(0, limit)
      .map((row) => ({ ...row }));
  }
  countsOf() {
    const pending = [...this.rows.values()].filter(({ state }) => state !== 'parked').length;
    return { pending, parked: this.rows.size - pending, bytes: 0, oldestAcceptedAt: undefined };
  }
  canTake = () => true;
  #row(id: number): Row {
    const row = this.rows.get(id);
    if (!row) throw new Error(`no row ${id}`);
    return row;
  }
}

describe('the runner of accepted records', () => {
  let inbox: FakeInbox;
  let held: number;
  let releases: number;
  let delivered: { key: string; attempt: number }[];
  let reports: string[];
  let verdictOf: (record: TrackedRecord, attempt: number) => Promise<Verdict>;
  let admission: () => Admission | undefined;
  let room: Quota;

  beforeEach(() => {
    inbox = new FakeInbox();
    held = releases = 0;
    delivered = [];
    reports = [];
    room = new Quota(2 ** 20);
    verdictOf = () => Promise.resolve(DONE);
    admission = () => undefined;
  });

  function runner(options: Partial<InboxRunnerOptions> = {}): InboxRunner {
    const admit = (): Admission => {
      const refusal = admission();
      if (refusal) return refusal;
      held += 1;
      let open = true;
      const release = () => {
        if (!open) return;
        open = false;
        held -= 1;
        releases += 1;
      };
      return { admitted: true, holds: new Map([['sink', { release }]]) };
    };
    return new InboxRunner(
      { source: 's', window: 10, retries: 0, dedupeMs: 0, ...options },
      {
        inbox: inbox as unknown as Inbox,
        admit,
        room,
        deliver: async (record, attempt) => {
          delivered.push({ key: record.key, attempt });
          return verdictOf(record, attempt);
        },
        tally: newTally(),
        random: () => 0,
        report: (error) => reports.push(error.message),
      },
    );
  }
  const incoming = (key: string): IncomingRecord => ({
    key,
    digest: 'd',
    bytes: 10,
    receivedAt: 1,
    message: { payload: key },
  });
  const holdOf = (): ReadonlyMap<string, Hold> => {
    held += 1;
    let open = true;
    const release = () => {
      if (open) held -= 1;
      open = false;
    };
    return new Map([['sink', { release }]]);
  };
  const empty = () => inbox.rows.size === 0;

  it('N8 runs at once what its room of bytes allows, new or from before, and all in the end', async () => {
    room.limit = 90;
    for (const key of ['a', 'b']) inbox.add(key, 0, encodeRecord({ payload: key.repeat(40) }));
    const open: (() => void)[] = [];
    let most = 0;
    verdictOf = () =>
      new Promise((resolve) => {
        open.push(() => resolve(DONE));
        most = Math.max(most, room.used);
      });
    const subject = runner();
    subject.resume();
    await waitFor('the first', () => delivered.length === 1);
    await subject.accept({ ...incoming('c'), bytes: 60 }, holdOf());
    expect(delivered).toHaveLength(1);
    await waitFor('all of them', () => {
      open.splice(0).forEach((end) => end());
      return empty();
    });
    expect(delivered.map(({ key }) => key)).toEqual(['a', 'b', 'c']);
    expect(most).toBeLessThanOrEqual(90);
    expect(room.used).toBe(0);
    expect(held).toBe(0);
    subject.pause();
  });

  it('N8 runs what is pending when the flow starts, oldest first, and deletes it', async () => {
    for (const key of ['a', 'b', 'c']) inbox.add(key);
    const subject = runner();
    subject.resume();
    await waitFor('an empty inbox', empty);
    expect(delivered.map(({ key }) => key)).toEqual(['a', 'b', 'c']);
    await waitFor('the room to be given back', () => held === 0);
    expect(releases).toBe(3);
    subject.pause();
  });

  it('keeps no place and no room when an attempt cannot be committed', async () => {
    for (const key of ['a', 'b']) inbox.add(key);
    inbox.failing.add('startAttempt');
    const subject = runner({ window: 1 });
    subject.resume();
    await waitFor('the failure', () => reports.length === 1);
    expect(held).toBe(0);
    inbox.failing.clear();
    await waitFor('an empty inbox', empty);
    subject.pause();
    expect(reports).toEqual(['no startAttempt']);
  });

  it('a failing inbox is reported once, however often it is tried', async () => {
    inbox.add('a');
    inbox.failing.add('pending');
    const subject = runner();
    subject.resume();
    await waitFor('several tries', () => inbox.calls.length >= 3);
    expect(reports).toEqual(['no pending']);
    inbox.failing.clear();
    await waitFor('an empty inbox', empty);
    subject.pause();
  });

  it('a record that cannot be read is parked and holds nothing up', async () => {
    const damaged = inbox.add('damaged', 0, Buffer.from([1, 1, 1, 0, 255, 255, 255, 255]));
    inbox.add('good');
    const subject = runner();
    subject.resume();
    await waitFor('the good one to be handled', () => inbox.rows.size === 1);
    expect(inbox.rows.get(damaged)).toMatchObject({ state: 'parked', code: 'ERR_SLUICE_RECORD_DAMAGED' });
    expect(held).toBe(0);
    subject.pause();
  });

  it('a delivery that rejects leaves the row pending and gives its room back', async () => {
    verdictOf = () => Promise.reject(new Error('broken'));
    inbox.add('a');
    const subject = runner({ window: 1 });
    subject.resume();
    await waitFor('a report', () => reports.includes('broken'));
    verdictOf = () => Promise.resolve(DONE);
    await waitFor('an empty inbox', empty);
    await waitFor('the room to be given back', () => held === 0);
    subject.pause();
  });

  it('a handled record whose row cannot be deleted does not run again', async () => {
    inbox.add('a');
    inbox.failing.add('finish');
    const subject = runner();
    subject.resume();
    await waitFor('failures', () => inbox.calls.filter((call) => call === 'finish').length >= 2);
    inbox.failing.clear();
    await waitFor('an empty inbox', empty);
    expect(delivered).toHaveLength(1);
    subject.pause();
  });

  it('a record that nobody takes is tried again, but not in a circle', async () => {
    inbox.add('a');
    verdictOf = () => Promise.resolve({ kind: 'aborted', reason: 'ERR_SLUICE_DELIVERY_UNROUTED' });
    const subject = runner();
    subject.resume();
    await waitFor('the attempt', () => delivered.length === 1);
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(delivered).toHaveLength(1);
    subject.pause();
    verdictOf = () => Promise.resolve(DONE);
    subject.resume();
    await waitFor('an empty inbox', empty);
    expect(delivered).toHaveLength(2);
    subject.pause();
  });

  it('N13 sends nothing when a deploy begins while an attempt is being committed', async () => {
    inbox.add('a');
    const subject = runner();
    inbox.before = (call) => {
      if (call === 'startAttempt') subject.pause();
    };
    subject.resume();
    await waitFor('the attempt to be given back', () => inbox.calls.includes('startAttempt') && held === 0);
    await waitFor('the row to be pending', () => [...inbox.rows.values()][0]?.state === 'pending');
    expect(delivered).toEqual([]);
    inbox.before = () => undefined;
    subject.resume();
    await waitFor('an empty inbox', empty);
    expect(delivered).toEqual([{ key: 'a', attempt: 1 }]);
    subject.pause();
  });

  it('N13 a deploy in the middle of a pull starts nothing more, and the next start goes on', async () => {
    for (let row = 0; row < 5; row += 1) inbox.add(`row ${row}`);
    const subject = runner({ window: 2 });
    let pulls = 0;
    inbox.before = (call) => {
      if (call === 'pending' && (pulls += 1) === 2) subject.pause();
    };
    subject.resume();
    await waitFor('the pause', () => pulls === 2);
    await waitFor('what runs to end', () => held === 0 && subject.settled() === undefined);
    expect(delivered.length).toBeLessThan(5);
    subject.resume();
    await waitFor('an empty inbox', empty);
    expect(new Set(delivered.map(({ key }) => key)).size).toBe(5);
    expect(delivered).toHaveLength(5);
    subject.pause();
  });

  it('asks for room again later with one timer, however many records come meanwhile', async () => {
    admission = () => refuse('push', 5);
    const subject = runner();
    subject.resume();
    for (let record = 0; record < 200; record += 1) await subject.accept(incoming(`r${record}`), undefined);
    const pulls = () => inbox.calls.filter((call) => call === 'pending').length;
    await waitFor('the question for room', () => pulls() > 0);
    expect(pulls()).toBeLessThan(5);
    admission = () => undefined;
    await waitFor('an empty inbox', empty);
    expect(delivered).toHaveLength(200);
    subject.pause();
  });

  it('asks for room again as soon as a record of its own has ended', async () => {
    for (let record = 0; record < 100; record += 1) inbox.add(`r${record}`);
    // A sink that can keep 4.
    admission = () => (held < 4 ? undefined : refuse('sink', 5));
    const subject = runner();
    const start = performance.now();
    subject.resume();
    await waitFor('an empty inbox', empty);
    // 25 rounds, each of which would otherwise wait for the look after 500 ms.
    expect(performance.now() - start).toBeLessThan(2500);
    expect(delivered).toHaveLength(100);
    await waitFor('the room to be given back', () => held === 0);
    subject.pause();
  });

  it('an accept that fails keeps no place in the window', async () => {
    const subject = runner({ window: 1 });
    subject.resume();
    inbox.failing.add('accept');
    const holds = holdOf();
    await expect(subject.accept(incoming('a'), holds)).rejects.toThrow('no accept');
    inbox.failing.clear();
    for (const hold of holds.values()) hold.release();
    await subject.accept(incoming('b'), holdOf());
    await waitFor('an empty inbox', empty);
    expect(delivered).toEqual([{ key: 'b', attempt: 1 }]);
    await waitFor('the room to be given back', () => held === 0);
    subject.pause();
  });

  it('an accept beyond the window gives the room at the sinks back at once and runs later', async () => {
    let end: () => void = () => undefined;
    verdictOf = () => new Promise((resolve) => (end = () => resolve(DONE)));
    const subject = runner({ window: 1 });
    subject.resume();
    await subject.accept(incoming('a'), holdOf());
    await subject.accept(incoming('b'), holdOf());
    expect(held).toBe(1);
    await waitFor('the first', () => delivered.length === 1);
    verdictOf = () => Promise.resolve(DONE);
    end();
    await waitFor('an empty inbox', empty);
    await waitFor('the room to be given back', () => held === 0);
    subject.pause();
  });

  it('of rows that were running at each crash one at a time is tried again, the others go on', async () => {
    for (let row = 0; row < 6; row += 1) inbox.add(`suspect ${row}`, 2);
    inbox.add('dead', 3);
    for (let row = 0; row < 20; row += 1) inbox.add(`fresh ${row}`);
    let running = 0;
    let most = 0;
    verdictOf = async ({ key }) => {
      if (!key.startsWith('suspect')) return DONE;
      most = Math.max(most, (running += 1));
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return DONE;
    };
    const subject = runner({ window: 4 });
    subject.resume();
    await waitFor('all others to be handled', () => inbox.rows.size === 1);
    expect(most).toBe(1);
    expect([...inbox.rows.values()][0]).toMatchObject({ key: 'dead', code: 'ERR_SLUICE_INBOX_CRASHES' });
    expect(delivered).toHaveLength(26);
    subject.pause();
  });
});
