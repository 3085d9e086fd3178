import { StoreError } from '../errors/errors';
import {
  HELD,
  PARKED_IN_A_ROW,
  type AppendOptions,
  type AppendResult,
  type LeasedRecord,
  type ListedRecord,
  type ParkedRecord,
  type Recalled,
  type QueueCounts,
  type QueueStore,
  type Settlement,
} from './contract';
import { DueOrder } from './due-order';

/** Keys are remembered for this many records after their own, then forgotten: memory must have a bound. */
const REMEMBERED_KEYS = 10_000;
/** Clocks are corrected by less than this all the time. */
const CLOCK_BACK_MS = 1000;

interface Entry {
  readonly seq: number;
  readonly record: Uint8Array;
  readonly storedAt: number;
  readonly key: string | undefined;
  attempts: number;
  unknowns: number;
  /** While it is parked. */
  dueAt: number;
}

type KeyedRecord = Pick<Entry, 'seq' | 'storedAt'>;

/**
 * A queue store without a file: what a push queue uses when it isn't enabled. Records end with the process; dead ones
 * are counted only. Everything is committed at once, in the order of the calls.
 */
export class MemoryStore implements QueueStore {
  /** Every record not yet delivered or dead, oldest first; each is in one of the three maps below as well. */
  readonly #live = new Map<number, Entry>();
  readonly #queued = new Map<number, Entry>();
  readonly #leased = new Map<number, Entry>();
  /** Those of them that failed before. */
  readonly #leasedParked = new Set<number>();
  readonly #parked = new Map<number, Entry>();
  readonly #due = new DueOrder();
  readonly #keys = new Map<string, KeyedRecord>();
  readonly #listeners = new Set<() => void>();
  #parkedInARow = 0;
  #lastNow = -Infinity;
  #nextSeq = 1;
  #bytes = 0;
  #dead = 0;
  #evicted = 0;
  #evictedBytes = 0;
  #closed = false;

  /** `maxDead`: dead records that are counted; there is nothing of them to keep. */
  constructor(
    readonly now: () => number = Date.now,
    readonly maxDead = 50_000,
  ) {}

  append(record: Uint8Array, options: AppendOptions = {}): Promise<AppendResult> {
    if (this.#closed) return Promise.reject(closedError());
    this.#noteTime();
    const { key, keySince = 0 } = options;
    const known = key === undefined ? undefined : this.#keys.get(key);
    if (known && known.storedAt >= keySince) return Promise.resolve({ seq: known.seq, duplicate: true });

    const seq = this.#nextSeq++;
    this.#bytes += record.byteLength;
    if (options.evictDownTo !== undefined) this.#evictDownTo(options.evictDownTo);
    // A copy: the caller may send a view of a buffer that it uses again.
    const entry = {
      seq,
      record: record.slice(),
      storedAt: this.now(),
      key,
      attempts: 0,
      unknowns: 0,
      dueAt: 0,
    };
    this.#live.set(seq, entry);
    this.#queued.set(seq, entry);
    if (key !== undefined) this.#remember(key, { seq, storedAt: entry.storedAt });
    this.#changed();
    return Promise.resolve({ seq, duplicate: false });
  }

  lease(maxRecords: number, maxBytes: number, maxParked = Infinity): Promise<LeasedRecord[]> {
    if (this.#closed) return Promise.reject(closedError());
    this.#noteTime();
    const leased: LeasedRecord[] = [];
    let bytes = 0;
    for (;;) {
      if (leased.length >= maxRecords) break;
      const next = this.#nextLeasable(maxParked);
      if (next === undefined) break;
      bytes += next.record.byteLength;
      // The first one always goes, or a record larger than maxBytes would never be delivered.
      if (bytes > maxBytes && leased.length > 0) break;
      this.#give(next);
      leased.push({ ...next, crashes: 0 });
    }
    return Promise.resolve(leased);
  }

  leaseParked(seqs: readonly number[]): Promise<Recalled> {
    if (this.#closed) return Promise.reject(closedError());
    const entries = seqs.flatMap((seq) => this.#parked.get(seq) ?? []);
    for (const entry of entries) this.#give(entry);
    return Promise.resolve({ leased: entries.map((entry) => ({ ...entry, crashes: 0 })), later: [] });
  }

  parkedAfter(seq: number, limit: number): Promise<readonly ParkedRecord[]> {
    if (this.#closed) return Promise.reject(closedError());
    const after = [...this.#parked.values()].filter((entry) => entry.seq > seq);
    return Promise.resolve(after.sort((a, b) => a.seq - b.seq).slice(0, limit));
  }

  releaseHeld(): Promise<void> {
    if (this.#closed) return Promise.reject(closedError());
    const [held, others] = [[] as Entry[], [] as Entry[]];
    for (const entry of this.#parked.values()) (entry.dueAt === HELD ? held : others).push(entry);
    const last = others.reduce((latest, { dueAt }) => Math.max(latest, dueAt), 0);
    for (const entry of held) this.#makeDue(entry, last);
    if (held.length > 0) this.#changed();
    return Promise.resolve();
  }

  list(limit: number): Promise<readonly ListedRecord[]> {
    if (this.#closed) return Promise.reject(closedError());
    const stateOf = (seq: number) =>
      this.#leased.has(seq) ? 'out' : this.#parked.has(seq) ? 'parked' : 'queued';
    const listed: ListedRecord[] = [];
    for (const { seq, storedAt, attempts, record } of this.#live.values()) {
      if (listed.length >= limit) break;
      listed.push({ seq, state: stateOf(seq), storedAt, attempts, record });
    }
    return Promise.resolve(listed);
  }

  settle(settlement: Settlement): Promise<void> {
    if (this.#closed) return Promise.reject(closedError());
    this.#noteTime();
    const entry = this.#leased.get(settlement.seq);
    if (entry === undefined) return Promise.resolve();
    this.#leasedParked.delete(entry.seq);
    if (settlement.outcome === 'retry') {
      if (settlement.spend) entry.attempts += 1;
      if (settlement.unknown) entry.unknowns += 1;
      else if (settlement.spend) entry.unknowns = 0;
      this.#leased.delete(entry.seq);
      this.#parked.set(entry.seq, entry);
      this.#makeDue(entry, settlement.dueAt);
    } else {
      this.#take(this.#leased, entry.seq);
      if (settlement.outcome === 'dead') {
        if (!settlement.kept) this.#dead += 1;
        this.#forgetKeyOf(entry);
      }
    }
    this.#changed();
    return Promise.resolve();
  }

  counts(): QueueCounts {
    return {
      records: this.#live.size,
      bytes: this.#bytes,
      parked: this.#parked.size,
      dead: Math.min(this.#dead, this.maxDead),
      deadTrimmedTotal: Math.max(0, this.#dead - this.maxDead),
      evictedTotal: this.#evicted,
      evictedBytesTotal: this.#evictedBytes,
      oldestStoredAt: first(this.#live)?.storedAt,
    };
  }

  nextDueAt(): number | undefined {
    return this.#due.first()?.dueAt;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Memory has no faults to tell. */
  onHealth(): () => void {
    return () => undefined;
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#listeners.clear();
    return Promise.resolve();
  }

  /** The clock was set back: what waits goes on waiting as long as it was to. */
  #noteTime(): void {
    const now = this.now();
    const back = this.#lastNow - now;
    this.#lastNow = now;
    if (back < CLOCK_BACK_MS) return;
    for (const entry of this.#parked.values()) {
      if (entry.dueAt < HELD) this.#makeDue(entry, entry.dueAt - back);
    }
  }

  #give(entry: Entry): void {
    this.#due.remove(entry.seq);
    this.#parked.delete(entry.seq);
    if (this.#queued.delete(entry.seq)) this.#parkedInARow = 0;
    else {
      this.#leasedParked.add(entry.seq);
      this.#parkedInARow += 1;
    }
    this.#leased.set(entry.seq, entry);
  }

  #makeDue(entry: Entry, dueAt: number): void {
    entry.dueAt = dueAt;
    if (dueAt < HELD) this.#due.put(entry.seq, dueAt);
  }

  #nextLeasable(maxParked: number): Entry | undefined {
    const due = this.#due.first();
    const parked = due !== undefined && due.dueAt <= this.now() ? this.#parked.get(due.id) : undefined;
    const queued = first(this.#queued);
    const turn = maxParked === Infinity || this.#parkedInARow < PARKED_IN_A_ROW;
    return turn && this.#leasedParked.size < maxParked ? (parked ?? queued) : (queued ?? parked);
  }

  /** Parked records go first, then the oldest queued ones, those out for delivery last: their settlement is ignored. */
  #evictDownTo(limit: number): void {
    for (const from of [this.#parked, this.#queued, this.#leased]) {
      for (const entry of from.values()) {
        if (this.#bytes <= limit) return;
        this.#take(from, entry.seq);
        this.#due.remove(entry.seq);
        this.#leasedParked.delete(entry.seq);
        this.#forgetKeyOf(entry);
        this.#evicted += 1;
        this.#evictedBytes += entry.record.byteLength;
      }
    }
  }

  #take(from: Map<number, Entry>, seq: number): void {
    const entry = from.get(seq);
    if (entry === undefined) return;
    from.delete(seq);
    this.#live.delete(seq);
    this.#bytes -= entry.record.byteLength;
  }

  #remember(key: string, stored: KeyedRecord): void {
    // Put at the end, where the newest are.
    this.#keys.delete(key);
    this.#keys.set(key, stored);
    if (this.#keys.size <= REMEMBERED_KEYS) return;
    for (const oldest of this.#keys.keys()) {
      this.#keys.delete(oldest);
      return;
    }
  }

  #forgetKeyOf({ key, seq }: Entry): void {
    if (key !== undefined && this.#keys.get(key)?.seq === seq) this.#keys.delete(key);
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}

function first(entries: Map<number, Entry>): Entry | undefined {
  for (const entry of entries.values()) return entry;
  return undefined;
}

function closedError(): StoreError {
  return new StoreError('ERR_SLUICE_QUEUE_CLOSED', 'The queue is closed; the record was not stored');
}
