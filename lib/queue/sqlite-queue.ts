/** The worker's half of the SQLite store: one transaction for all batches that wait, then the leases. */
import type { Database } from 'better-sqlite3';
import { PAGE_BYTES, type DatabaseFile } from '../sqlite/database-file';
import { checkDiskFloor } from '../sqlite/disk-floor';
import { checkLogRoom } from '../sqlite/log-room';
import { FileFault, faultOf, type Fault } from '../sqlite/faults';
import { Listing } from './sqlite-listing';
import type { Answer } from '../sqlite/worker-loop';
import type { Stored } from './sqlite-intake';
import { QueueRecords } from './sqlite-records';
import { Upkeep } from './sqlite-upkeep';
import {
  writeLeases,
  type QueueBatch,
  type QueueReply,
  type QueueState,
  type WorkerOptions,
} from './sqlite-wire';

/** Clocks are corrected by less than this all the time. */
const CLOCK_BACK_MS = 1000;
const PROBE_BYTES = 64 * 1024;

type Outcome = Partial<Stored> & Pick<QueueReply, 'appendFault' | 'settleFault'>;

export class SqliteQueue {
  readonly #records: QueueRecords;
  readonly #listing: Listing;
  readonly #upkeep: Upkeep;
  #now: number;
  /** Bytes of records that the transaction adds. */
  #adding = 0;
  /** Set when the file turned out to be damaged; then it must be replaced. */
  corrupt: Fault | undefined;

  private readonly db: Database;

  constructor(
    private readonly file: DatabaseFile,
    private readonly options: WorkerOptions,
  ) {
    this.db = file.db;
    this.#records = new QueueRecords(file.db, options);
    this.#listing = new Listing(file.db);
    this.#upkeep = new Upkeep(file);
    this.#now = options.now + this.#records.clockBackMs(options.now);
    this.#noteTime(options.now);
    if (options.restarted) this.#records.adoptLeases(options.leased);
    else this.#blameLeases(options.now);
  }

  run(batches: readonly QueueBatch[]): Answer<QueueReply>[] {
    this.#noteTime(batches.at(-1)?.now ?? this.#now);
    const outcomes = this.#write(batches);
    const given = batches.map((batch) => this.#lease(batch));
    if (this.#records.leasesChanged) this.#noteLeases();
    const reading = batches.map((batch) => ({ reads: this.#read(batch), lists: this.#list(batch) }));
    const state = this.state;
    return batches.map((_, index) => {
      const { leases: leased, later } = given[index] ?? {};
      const outcome = outcomes[index];
      const looks = reading[index];
      const reply = { ...outcome, firstSeq: outcome?.firstSeq ?? 0, state, leases: leased, later, ...looks };
      return { reply, transfer: leased?.filter((lease) => lease instanceof ArrayBuffer) ?? [] };
    });
  }

  get state(): QueueState {
    const records = this.#records;
    const { counters } = records;
    return {
      records: counters.records,
      bytes: counters.bytes,
      parked: records.waiting,
      dead: counters.dead,
      evictedTotal: counters.evicted,
      evictedBytesTotal: counters.evictedBytes,
      deadTrimmedTotal: counters.deadTrimmed,
      oldestStoredAt: records.oldestStoredAt,
      nextDueAt: records.nextDueAt,
    };
  }

  get next(): number {
    return this.#records.counters.next;
  }

  /** A few milliseconds of what can wait: true for more of it. */
  idle(): boolean {
    try {
      return this.#upkeep.tidy() || this.#upkeep.check();
    } catch (error) {
      this.#note(error);
      return false;
    }
  }

  #noteTime(now: number): void {
    const back = this.#now - now;
    this.#now = now;
    if (back < CLOCK_BACK_MS) return;
    try {
      this.#transaction(now, () => this.#records.clockSetBack(back, now));
    } catch (error) {
      this.#note(error);
    }
  }

  #blameLeases(now: number): void {
    if (!this.#records.leftLeases) return;
    try {
      this.#transaction(now, () => this.#records.blameLeases());
    } catch (error) {
      // On a full disk the records are still there, and nobody is to blame.
      if (this.#note(error).kind === 'corrupt') throw error;
    }
  }

  close(): void {
    try {
      this.#withoutSync(() => this.#records.endLeases());
    } catch {
      // Then the next process is careful without need.
    }
    this.file.close();
  }

  /** Best effort: it only tells the next process what may have ended this one. */
  #noteLeases(): void {
    try {
      this.#withoutSync(() => this.#records.saveLeases());
    } catch (error) {
      this.#records.leasesUnsaved();
      this.#note(error);
    }
  }

  /** For what has to outlive the process, not the computer. */
  #withoutSync(work: () => void): void {
    this.db.exec('PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE');
    try {
      work();
      this.db.exec('COMMIT');
    } finally {
      if (this.db.inTransaction) this.db.exec('ROLLBACK');
      this.db.exec('PRAGMA synchronous = FULL');
    }
  }

  #write(batches: readonly QueueBatch[]): Outcome[] {
    const changes = batches.filter(
      ({ append, done, settlements, releaseHeld }) => append ?? done ?? settlements ?? releaseHeld,
    );
    const now = changes.at(-1)?.now;
    try {
      const outcomes: Outcome[] =
        now === undefined ? [] : this.#transaction(now, () => batches.map((batch) => this.#apply(batch)));
      return batches.some(({ probe }) => probe)
        ? batches.map((batch, index) => ({ ...outcomes[index], ...this.#probe(batch) }))
        : outcomes;
    } catch (error) {
      const fault = this.#note(error);
      if (fault.kind === 'corrupt') return batches.map(() => ({ appendFault: fault, settleFault: fault }));
      return batches.map((batch) => this.#applyAlone(batch));
    }
  }

  #apply({ append, done, settlements, releaseHeld, now }: QueueBatch): Outcome {
    if (releaseHeld) this.#records.releaseHeld();
    if (done) for (const seq of done) this.#records.done(seq);
    if (settlements) for (const settlement of settlements) this.#records.settle(settlement, now);
    if (!append) return {};
    this.#checkRoom(append.frames.byteLength);
    return this.#records.append(append, now);
  }

  /** Once the reserve was needed, records may use pages that are free in the file, but not eat up what it gave. */
  #checkRoom(bytes: number): void {
    checkDiskFloor(this.options.file, this.options.minFreeBytes ?? 0);
    const { reserve } = this.file;
    this.#adding += bytes;
    if (reserve.held < reserve.bytes) checkLogRoom(this.options.file, reserve.held, this.#adding);
    if (!reserve.spent) return;
    reserve.keep();
    const free = Number(this.db.pragma('freelist_count', { simple: true })) * PAGE_BYTES;
    if (reserve.spent && free < reserve.bytes)
      throw new FileFault('disk_full', 'held back to settle what is stored');
  }

  /** What doesn't depend on each other is tried alone: on a full disk, settling still makes room. */
  #applyAlone(batch: QueueBatch): Outcome {
    const { now, append, done, settlements, releaseHeld } = batch;
    const settles = done ?? settlements ?? releaseHeld;
    const settling = settles ? this.#settleAnyhow({ now, done, settlements, releaseHeld }) : {};
    const appending = append ? this.#attempt({ now, append }) : {};
    return {
      ...appending,
      appendFault: appending.appendFault,
      settleFault: settling.appendFault,
      ...(batch.probe ? this.#probe(batch) : {}),
    };
  }

  /** On a full disk the log can't grow, and settling needs it: the reserve lets it be written back and used again. */
  #settleAnyhow(batch: QueueBatch): Outcome {
    const outcome = this.#attempt(batch);
    if (outcome.appendFault?.kind !== 'disk_full' || !this.file.reserve.release()) return outcome;
    try {
      this.db.pragma('wal_checkpoint(TRUNCATE)');
    } catch (error) {
      return { appendFault: this.#note(error) };
    }
    return this.#attempt(batch);
  }

  #attempt(batch: QueueBatch): Outcome {
    try {
      return this.#transaction(batch.now, () => this.#apply(batch));
    } catch (error) {
      return { appendFault: this.#note(error) };
    }
  }

  /** Writes something and takes it back, each durably. */
  #probe({ now, probe }: QueueBatch): Outcome {
    if (!probe) return {};
    try {
      this.#checkRoom(PROBE_BYTES);
      this.#transaction(now, () =>
        this.db.exec(`INSERT OR REPLACE INTO probe VALUES(1, zeroblob(${PROBE_BYTES}))`),
      );
      this.#transaction(now, () => this.db.exec('DELETE FROM probe'));
      return {};
    } catch (error) {
      return { appendFault: this.#note(error) };
    }
  }

  #transaction<Result>(now: number, work: () => Result): Result {
    this.db.exec('BEGIN IMMEDIATE');
    this.#adding = 0;
    try {
      const result = work();
      this.#records.save(now);
      this.db.exec('COMMIT');
      this.#records.committed();
      this.#upkeep.written();
      return result;
    } catch (error) {
      if (this.db.inTransaction) this.db.exec('ROLLBACK');
      this.#records.rolledBack();
      throw error;
    }
  }

  #lease({ leases, now }: QueueBatch): Pick<QueueReply, 'leases' | 'later'> {
    const later: number[] = [];
    const given = leases?.map((request) => {
      try {
        if (!request.seqs) return writeLeases(this.#records.lease(request, now));
        const recalled = this.#records.recall(request.seqs, now);
        later.push(...recalled.later);
        return writeLeases(recalled.runs);
      } catch (error) {
        return this.#note(error);
      }
    });
    return { leases: given, later: later.length > 0 ? later : undefined };
  }

  #read({ reads }: QueueBatch): QueueReply['reads'] {
    return reads?.map(({ afterSeq, limit }) => {
      try {
        return this.#records.parkedAfter(afterSeq, limit);
      } catch (error) {
        return this.#note(error);
      }
    });
  }

  #list({ lists }: QueueBatch): QueueReply['lists'] {
    return lists?.map((limit) => {
      try {
        return this.#listing.oldest(limit, (seq) => this.#records.isOut(seq));
      } catch (error) {
        return this.#note(error);
      }
    });
  }

  #note(error: unknown): Fault {
    const fault = faultOf(error);
    if (fault.kind === 'worker') throw error;
    if (fault.kind === 'corrupt') this.corrupt = fault;
    return fault;
  }
}
