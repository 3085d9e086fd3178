/**
 * What happens to records inside the worker: stored, leased, settled, evicted. Each change is made in the running
 * transaction and in memory; `committed` or `rolledBack` must follow.
 *
 * A record not settled is either in a chunk or parked.
 */
import type { Database } from 'better-sqlite3';
import type { ParkedRecord, Settlement } from './contract';
import type { Chunk } from './sqlite-chunk';
import { Chunks } from './sqlite-chunks';
import { CountersRow, type Counters } from './sqlite-counters';
import { takeIn, type Stored } from './sqlite-intake';
import { RememberedKeys } from './sqlite-keys';
import { Leases } from './sqlite-leases';
import { Outgoing } from './sqlite-outgoing';
import { DeadRows, ParkedRows, type ParkedRow } from './sqlite-parked';
import { victims } from './sqlite-victims';
import type { AppendBatch, LeaseRequest, LeaseRun } from './sqlite-wire';

/** Settled records may take this much of the file; beyond it, the live ones of old chunks are moved out. */
const MAX_WASTED_BYTES = 32 * 2 ** 20;
/** No retry waits longer; what seems to was parked by another clock. */
const LONGEST_WAIT_MS = 86_400_000;

type Retry = Extract<Settlement, { outcome: 'retry' }>;
type Dead = Extract<Settlement, { outcome: 'dead' }>;

export class QueueRecords {
  counters: Counters;
  readonly #row: CountersRow;
  readonly #chunks: Chunks;
  readonly #parked: ParkedRows;
  readonly #dead: DeadRows;
  readonly #keys: RememberedKeys;
  readonly #leases: Leases;
  readonly #out: Outgoing;

  constructor(
    db: Database,
    private readonly limits: { readonly maxDead: number; readonly maxKeys: number },
  ) {
    this.#row = new CountersRow(db);
    this.counters = this.#row.read();
    this.#chunks = new Chunks(db);
    this.#parked = new ParkedRows(db);
    this.#dead = new DeadRows(db);
    this.#keys = new RememberedKeys(db, limits.maxKeys);
    this.#leases = new Leases(db);
    this.#out = new Outgoing(this.#chunks, this.#parked, this.#leases);
  }

  /** Stores what isn't a duplicate, then evicts if the batch says so. */
  append(batch: AppendBatch, now: number): Stored {
    const { counters } = this;
    const stored = takeIn(batch, { counters, chunks: this.#chunks, keys: this.#keys }, now);
    const { evictDownTo = Infinity } = batch;
    if (counters.next > stored.firstSeq && counters.bytes > evictDownTo) {
      this.#chunks.flush(now);
      this.#evict(evictDownTo);
    }
    return stored;
  }

  done(seq: number): void {
    const parked = this.#out.end(seq);
    if (parked !== undefined) this.#remove(seq, parked);
  }

  settle(settlement: Settlement, now: number): void {
    if (settlement.outcome === 'done') this.done(settlement.seq);
    else if (settlement.outcome === 'retry') this.#retry(settlement);
    else this.#bury(settlement, now);
  }

  /** As `Outgoing.lease`; `saveLeases` must follow. */
  lease(request: LeaseRequest, now: number): LeaseRun[] {
    const { next } = this.counters;
    return this.#out.lease(request, now, { parkedWaiting: this.waiting > 0, next });
  }

  /** As `Outgoing.recall`; `saveLeases` must follow. */
  recall(seqs: readonly number[], now: number): ReturnType<Outgoing['recall']> {
    return this.#out.recall(seqs, now);
  }

  isOut(seq: number): boolean {
    return this.#leases.has(seq);
  }

  parkedAfter(seq: number, limit: number): readonly ParkedRecord[] {
    return this.#parked.after(seq, limit, this.#leases);
  }

  releaseHeld(): void {
    if (this.counters.parked === 0) return;
    this.#parked.releaseHeld();
    this.#out.parkedChanged();
  }

  /** Writes what the transaction changed. */
  save(now: number): void {
    this.#chunks.flush(now);
    if (this.#chunks.wastedBytes > MAX_WASTED_BYTES) this.#moveStragglers();
    this.#chunks.save();
    this.#keys.save(now);
    this.#row.write(this.counters);
    this.saveLeases();
  }

  get leasesChanged(): boolean {
    return this.#leases.journal.changed;
  }

  saveLeases(): void {
    this.#leases.save();
  }

  /** They could not be written: next time again. */
  leasesUnsaved(): void {
    this.#leases.journal.touch();
  }

  /** The process ended in good order: nobody is to blame. */
  endLeases(): void {
    this.#leases.journal.clear();
  }

  /** Ms by which the clock was set back since the newest record was stored; 0 if it wasn't, or nobody can tell. */
  clockBackMs(now: number): number {
    return Math.max(0, (this.#chunks.newestStoredAt ?? 0) - now);
  }

  /** Parked records wait as long as they were to, though the clock was set back by `backMs`. */
  clockSetBack(backMs: number, now: number): void {
    if (this.counters.parked === 0) return;
    this.#parked.hasten(backMs, now, LONGEST_WAIT_MS);
    this.#out.parkedChanged();
  }

  /** Whether the process before this one ended while records were out. */
  get leftLeases(): boolean {
    return this.#leases.journal.left;
  }

  /** The process before this one ended while records were out. They are parked, due first, each with one crash more. */
  blameLeases(): void {
    const { cursor, parked } = this.#leases.journal.read();
    for (const seq of parked) {
      if (!this.#parked.get(seq)) continue;
      this.#parked.postpone(seq, 0, { attempts: 0, unknowns: 0, keepUnknowns: true });
      this.#leases.suspects.crashed(seq);
    }
    for (let seq = 0; seq < cursor; seq++) {
      const chunk = this.#chunks.from(seq);
      if (!chunk) break;
      seq = Math.max(seq, chunk.first);
      if (seq >= cursor || chunk.isSettled(seq)) continue;
      this.#park(seq, 0, { attempts: 0, unknowns: 0 });
      this.#leases.suspects.crashed(seq);
    }
    this.#leases.journal.clear();
  }

  committed(): void {
    this.#leases.committed();
    this.#keys.committed();
  }

  rolledBack(): void {
    this.#out.rolledBack();
    this.#keys.rolledBack();
    this.#chunks.reset();
    this.counters = this.#row.read();
  }

  /** Takes over leases given before the worker was lost; those that are gone are left out. */
  adoptLeases(seqs: readonly number[]): void {
    for (const seq of seqs) {
      if (this.#parked.get(seq)) this.#out.give(seq, true);
      else if (this.#chunks.at(seq)?.isSettled(seq) === false) this.#out.give(seq, false);
    }
  }

  checkEnds(): void {
    this.#chunks.checkEnds();
  }

  /** Parked records that wait. */
  get waiting(): number {
    return this.counters.parked - this.#leases.parkedCount;
  }

  get nextDueAt(): number | undefined {
    return this.waiting === 0 ? undefined : this.#out.nextDueAt;
  }

  get oldestStoredAt(): number | undefined {
    if (this.counters.records === 0) return undefined;
    const parked = this.counters.parked > 0 ? this.#parked.oldestStoredAt : undefined;
    const queued = this.#chunks.oldestStoredAt;
    return Math.min(parked ?? Infinity, queued ?? Infinity);
  }

  #retry({ seq, dueAt, spend, unknown }: Retry): void {
    const parked = this.#out.end(seq);
    if (parked === undefined) return;
    this.#out.parkedChanged();
    if (spend) this.#leases.suspects.clear(seq);
    const attempts = spend ? 1 : 0;
    const unknowns = unknown ? 1 : 0;
    // A refusal says nothing about the deliveries before it.
    if (parked) this.#parked.postpone(seq, dueAt, { attempts, unknowns, keepUnknowns: unknown || !spend });
    else this.#park(seq, dueAt, { attempts, unknowns });
  }

  #park(seq: number, dueAt: number, spent: { attempts: number; unknowns: number }): void {
    const chunk = this.#chunkOf(seq);
    const record = chunk.recordIn(this.#chunks.contentOf(chunk), seq);
    this.#parked.add({ seq, at: chunk.storedAt, ...spent }, record, dueAt);
    this.counters.parked++;
    this.#chunks.settle(chunk, seq);
  }

  #bury({ seq, reason, code, kept }: Dead, now: number): void {
    const parked = this.#out.end(seq);
    if (parked === undefined) return;
    const { counters, limits } = this;
    if (!kept) {
      const { attempts, data } = this.#read(seq, parked);
      this.#dead.add(counters.nextDead++, { seq, attempts: attempts + 1, data }, reason, code, now);
      counters.dead++;
    }
    this.#remove(seq, parked);
    this.#keys.lose(seq);
    const excess = counters.dead - limits.maxDead;
    if (excess <= 0) return;
    this.#dead.trim(excess);
    counters.dead -= excess;
    counters.deadTrimmed += excess;
  }

  #read(seq: number, parked: boolean): Pick<ParkedRow, 'attempts'> & { data: Uint8Array } {
    const row = parked ? this.#parked.get(seq) : undefined;
    if (row) return row;
    const chunk = this.#chunkOf(seq);
    return { attempts: 0, data: chunk.recordIn(this.#chunks.contentOf(chunk), seq) };
  }

  /** Takes a record out of the file. Returns its bytes. */
  #remove(seq: number, parked: boolean): number {
    const bytes = parked ? this.#parked.delete(seq) : this.#settleInChunk(seq);
    this.counters.records--;
    this.counters.bytes -= bytes;
    this.#leases.suspects.clear(seq);
    if (parked) {
      this.counters.parked--;
      this.#out.parkedChanged();
    }
    return bytes;
  }

  #settleInChunk(seq: number): number {
    const chunk = this.#chunkOf(seq);
    this.#chunks.settle(chunk, seq);
    return chunk.bytesOf(seq);
  }

  #chunkOf(seq: number): Chunk {
    const chunk = this.#chunks.at(seq);
    if (!chunk) throw new Error(`no chunk holds record ${seq}`);
    return chunk;
  }

  #evict(downTo: number): void {
    const { counters } = this;
    const files = { chunks: this.#chunks, parked: this.#parked, out: this.#out };
    const bounds = { newest: counters.next - 1, parkedWaiting: this.waiting > 0 };
    for (const [seq, parked] of victims(files, bounds, () => counters.bytes - downTo)) {
      counters.evicted++;
      counters.evictedBytes += this.#remove(seq, parked);
      this.#keys.lose(seq);
    }
  }

  #moveStragglers(): void {
    for (const chunk of this.#chunks.straggling(this.#out.cursor)) {
      if (this.#chunks.wastedBytes <= MAX_WASTED_BYTES / 2) break;
      for (let seq = chunk.first; seq < chunk.end; seq++) {
        if (chunk.isSettled(seq)) continue;
        this.#out.end(seq);
        this.#park(seq, 0, { attempts: 0, unknowns: 0 });
        this.#out.give(seq, true);
      }
    }
  }
}
