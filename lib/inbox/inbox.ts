import { join } from 'node:path';
import type { Hold } from '../delivery/contract';
import { StoreError } from '../errors/errors';
import { Quota } from '../quota/quota';
import type { Committed, InboxHello } from './batch';
import type {
  Inbox,
  InboxCounts,
  InboxEntry,
  InboxRow,
  InboxTotals,
  KnownVerdict,
  ParkedRow,
  Settled,
} from './contract';
import { InboxCounters } from './inbox-counts';
import { InboxLink } from './inbox-link';
import { encodeEntry } from './settled-entry';
import { SettledMemory } from './settled-memory';

/** 50 MB of memory when full; at the bound those that expire soonest go early, and are counted. */
const DEFAULT_MAX_REMEMBERED = 1_000_000;

export interface InboxOptions {
  readonly dataDir: string;
  readonly quotaBytes: number;
  /** Unix ms. */
  readonly now: () => number;
  readonly maxRemembered?: number;
  /** Most pages (of 16 KB) the file may have; the disk is the limit without it. */
  readonly maxPages?: number;
  /** Path of better-sqlite3's binary, where it isn't in its usual place. */
  readonly nativeBinding?: string;
  /** How long to wait for another process to let go of the file, in ms. */
  readonly lockWaitMs?: number;
  /** Free disk space below which `accept` rejects with ERR_SLUICE_INBOX_DISK_LOW; 0, the default: none. */
  readonly minFreeBytes?: number;
}

/** Opens or creates `<dataDir>/inbox.db`. Rejects with StoreError where the file can't be had. */
export async function openInbox(options: InboxOptions): Promise<Inbox> {
  const inbox = new WorkerInbox(options);
  await inbox.start();
  return inbox;
}

class WorkerInbox implements Inbox {
  readonly #file: string;
  readonly #now: () => number;
  readonly #quota: Quota;
  readonly #link: InboxLink;
  readonly #counters = new InboxCounters();
  #refused = 0;
  readonly #settled: SettledMemory;
  readonly #running = new Set<number>();
  #nextId = 1;
  /** The part of the quota's use that lies in the file. */
  #storedBytes = 0;
  #quarantined: InboxHello['quarantined'];

  constructor(options: InboxOptions) {
    const { dataDir, quotaBytes, now, maxPages, nativeBinding, lockWaitMs, minFreeBytes } = options;
    const file = join(dataDir, 'inbox.db');
    this.#file = file;
    this.#now = now;
    this.#quota = new Quota(quotaBytes);
    this.#settled = new SettledMemory(
      options.maxRemembered ?? DEFAULT_MAX_REMEMBERED,
      now,
      (beforeId, fromMinute) => this.#link.ask({ kind: 'settled', beforeId, fromMinute }, 'settledPage'),
    );
    this.#link = new InboxLink({
      file,
      workerData: (damaged) => ({
        ...{ file, damaged, now: now() },
        ...{ maxPages, nativeBinding, lockWaitMs, minFreeBytes },
      }),
      forgetBefore: () => this.#settled.forgetBefore(),
      onHello: (hello) => this.#hello(hello),
      onCommitted: (reply) => this.#committed(reply),
    });
  }

  start(): Promise<void> {
    return this.#link.start();
  }

  canTake(bytes: number): boolean {
    const fits = this.#quota.canTake(bytes);
    if (!fits) this.#refused += 1;
    return fits;
  }

  hold(bytes: number): Hold {
    return this.#quota.hold(bytes);
  }

  async accept({ source, key, record, started, settled }: InboxEntry): Promise<number> {
    const bytes = record.byteLength;
    if (!this.#quota.reserve(bytes)) {
      this.#refused += 1;
      throw new StoreError(
        'ERR_SLUICE_INBOX_FULL',
        `${this.#file} is at its quota: raise inboxQuotaMb, or handle its parked records`,
      );
    }
    const id = this.#nextId;
    this.#nextId += 1;
    const entry = settled && encodeEntry({ ...settled, source, key });
    const attempts = started ? 1 : 0;
    // Running from the call on: a reader in the meantime mustn't get the row for a second attempt.
    if (started) this.#running.add(id);
    try {
      await this.#link.accept({ id, source, key, record, acceptedAt: this.#now(), attempts, settled: entry });
    } catch (error) {
      this.#quota.free(bytes);
      this.#running.delete(id);
      throw error;
    }
    this.#storedBytes += bytes;
    if (entry) this.#settled.remember(entry);
    return id;
  }

  async startAttempt(id: number): Promise<number | undefined> {
    this.#running.add(id);
    let attempt = 0;
    try {
      ({ attempt } = await this.#link.settle({ kind: 'start', id }));
    } finally {
      if (attempt === 0) this.#running.delete(id);
    }
    return attempt === 0 ? undefined : attempt;
  }

  release(id: number): void {
    this.#running.delete(id);
    this.#link.post({ kind: 'release', id });
  }

  async finish(id: number): Promise<void> {
    await this.#link.settle({ kind: 'finish', id });
    this.#running.delete(id);
  }

  async park(
    id: number,
    { code, reason }: { readonly code: string; readonly reason: string },
  ): Promise<void> {
    await this.#link.settle({ kind: 'park', id, code, reason, at: this.#now() });
    this.#running.delete(id);
  }

  async unpark(id: number): Promise<void> {
    await this.#link.settle({ kind: 'unpark', id });
  }

  async pending(source: string, limit: number): Promise<readonly InboxRow[]> {
    const { rows } = await this.#link.ask({ kind: 'pending', source, limit, running: this.#running }, 'rows');
    // What was started while the worker read is running by now.
    return rows.filter(({ id }) => !this.#running.has(id));
  }

  async parked(limit: number, afterId = 0): Promise<readonly ParkedRow[]> {
    return (await this.#link.ask({ kind: 'parked', limit, afterId }, 'parkedRows')).rows;
  }

  countsOf(source: string): InboxCounts {
    return this.#counters.of(source);
  }

  totals(): InboxTotals {
    return {
      ...this.#counters.sum(),
      quotaBytes: this.#quota.limit,
      refusedTotal: this.#refused,
      remembered: this.#settled.table.size,
      forgottenEarlyTotal: this.#settled.table.forgottenEarlyTotal,
      quarantinedFile: this.#quarantined?.file,
      salvaged: this.#quarantined?.saved ?? 0,
    };
  }

  remember(settled: Settled): void {
    const entry = encodeEntry(settled);
    this.#settled.remember(entry);
    this.#link.remember(entry);
  }

  recall(source: string, key: string): KnownVerdict | undefined | Promise<KnownVerdict | undefined> {
    return this.#settled.recall(source, key);
  }

  onHealth(listener: (fault: Error | undefined) => void): () => void {
    return this.#link.onHealth(listener);
  }

  close(): Promise<void> {
    return this.#link.close();
  }

  #committed({ counts, freedBytes }: Committed): void {
    this.#counters.update(counts);
    this.#free(freedBytes);
  }

  /** At each start of the worker: what the file really holds replaces what was assumed. */
  #hello({ nextId, counts, quarantined }: InboxHello): void {
    this.#nextId = Math.max(this.#nextId, nextId);
    this.#counters.replace(counts);
    this.#free(this.#storedBytes);
    this.#storedBytes = this.#counters.sum().bytes;
    this.#quota.take(this.#storedBytes);
    this.#quarantined = quarantined ?? this.#quarantined;
    void this.#settled.load();
  }

  #free(bytes: number): void {
    this.#quota.free(bytes);
    this.#storedBytes -= bytes;
  }
}
