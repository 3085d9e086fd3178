/**
 * Gives records out, inside the worker: parked ones whose time has come, then queued ones in order. Below `cursor` each
 * live record of a chunk is on lease.
 */
import type { Chunk } from './sqlite-chunk';
import type { Chunks } from './sqlite-chunks';
import type { Leases } from './sqlite-leases';
import type { ParkedRow, ParkedRows } from './sqlite-parked';
import { writeFrames, type LeaseRequest, type LeaseRun } from './sqlite-wire';

/** What is being given out in answer to one request. */
interface Taking {
  readonly runs: LeaseRun[];
  readonly now: number;
  records: number;
  /** Bytes that may still be added. */
  room: number;
}

/** A queued record that was never given out; a suspect is parked. */
const FRESH = { attempts: 0, unknowns: 0, crashes: 0 } as const;

export class Outgoing {
  cursor = 0;
  #nextDueAt: { at: number | undefined } | undefined;

  constructor(
    private readonly chunks: Chunks,
    private readonly parked: ParkedRows,
    readonly leases: Leases,
  ) {}

  /**
   * Gives records out, at least one if there is any, whatever its size. `parkedWaiting` says whether any waits, `next` is
   * the seq of the next append. The leases must be saved before the records leave the worker.
   */
  lease(
    { maxRecords, maxBytes, maxParked = Infinity }: LeaseRequest,
    now: number,
    { parkedWaiting, next }: { readonly parkedWaiting: boolean; readonly next: number },
  ): LeaseRun[] {
    const taking: Taking = { runs: [], records: 0, room: maxBytes, now };
    try {
      const share = this.leases.parkedShare(maxRecords, maxParked);
      const parkedFirst = !parkedWaiting || this.#takeParked(share, taking);
      const more = parkedFirst && this.#takeQueued(maxRecords - taking.records, next, taking);
      if (more && parkedWaiting) this.#takeParked(maxRecords - taking.records, taking);
      this.leases.journal.advance(this.cursor);
      return taking.runs;
    } catch (error) {
      this.#takeBack(taking);
      throw error;
    }
  }

  /** Gives these parked records out up to the first that may not go yet, which is due at once now; that and the rest. */
  recall(seqs: readonly number[], now: number): { readonly runs: LeaseRun[]; readonly later: number[] } {
    const taking: Taking = { runs: [], records: 0, room: Infinity, now };
    const later: number[] = [];
    try {
      for (const seq of seqs) {
        const row = this.leases.has(seq) ? undefined : this.parked.get(seq);
        if (!row) continue;
        // What comes after it would be out for nothing, and keep it from going.
        if (later.length === 0 && this.#takeRow(row, taking)) continue;
        if (later.length === 0) {
          this.parked.postpone(seq, 0, { attempts: 0, unknowns: 0, keepUnknowns: true });
          this.parkedChanged();
        }
        later.push(seq);
      }
      return { runs: taking.runs, later };
    } catch (error) {
      this.#takeBack(taking);
      throw error;
    }
  }

  give(seq: number, parked: boolean): void {
    this.leases.give(seq, parked);
    if (parked) this.parkedChanged();
  }

  /** Whether the record is parked; undefined when it isn't on lease. */
  end(seq: number): boolean | undefined {
    const parked = this.leases.end(seq);
    if (parked) this.parkedChanged();
    return parked;
  }

  /** Earliest due time of the parked records that wait. */
  get nextDueAt(): number | undefined {
    this.#nextDueAt ??= { at: this.parked.nextDueAt(this.leases) };
    return this.#nextDueAt.at;
  }

  parkedChanged(): void {
    this.#nextDueAt = undefined;
  }

  rolledBack(): void {
    this.leases.rolledBack();
    this.cursor = 0;
    this.parkedChanged();
  }

  #takeBack({ runs }: Taking): void {
    for (const { seq, count } of runs) for (let at = seq; at < seq + count; at++) this.end(at);
    this.leases.committed();
    this.cursor = 0;
  }

  /** False when one didn't fit or may not go yet: then nothing may overtake it. */
  #takeParked(maxRecords: number, taking: Taking): boolean {
    const { now } = taking;
    if (maxRecords === 0 || (this.nextDueAt ?? Infinity) > now) return true;
    const most = taking.records + maxRecords;
    for (const seq of this.parked.due(now, maxRecords + this.leases.parkedCount)) {
      if (taking.records === most) break;
      if (this.leases.has(seq)) continue;
      const row = this.parked.get(seq);
      if (row && !this.#takeRow(row, taking)) return false;
    }
    return true;
  }

  #takeRow({ seq, attempts, unknowns, at: storedAt, data }: ParkedRow, taking: Taking): boolean {
    const crashes = this.leases.suspects.crashesOf(seq);
    const frames = new Uint8Array(writeFrames([data]));
    if (!this.#take(seq, data.byteLength, true, taking)) return false;
    taking.runs.push({ seq, count: 1, attempts, unknowns, crashes, storedAt, frames });
    return true;
  }

  /** False when one didn't fit or may not go yet: then nothing may overtake it. */
  #takeQueued(maxRecords: number, next: number, taking: Taking): boolean {
    const most = taking.records + maxRecords;
    while (taking.records < most && this.cursor < next) {
      const chunk = this.chunks.from(this.cursor);
      if (!chunk) return true;
      const content = this.chunks.contentOf(chunk);
      let seq = Math.max(this.cursor, chunk.first);
      let fits = true;
      while (fits && seq < chunk.end && taking.records < most) {
        const first = seq;
        while (seq < chunk.end && taking.records < most && this.#isQueued(chunk, seq)) {
          fits = this.#take(seq, chunk.bytesOf(seq), false, taking);
          if (!fits) break;
          seq++;
        }
        if (seq > first) {
          const frames = chunk.framesIn(content, first, seq);
          taking.runs.push({ seq: first, count: seq - first, ...FRESH, storedAt: chunk.storedAt, frames });
        }
        while (fits && seq < chunk.end && !this.#isQueued(chunk, seq)) seq++;
      }
      this.cursor = seq;
      if (!fits) return false;
    }
    return true;
  }

  #isQueued(chunk: Chunk, seq: number): boolean {
    return !chunk.isSettled(seq) && !this.leases.has(seq);
  }

  #take(seq: number, bytes: number, parked: boolean, taking: Taking): boolean {
    if (taking.records > 0 && bytes > taking.room) return false;
    if (!this.leases.mayGo(seq, taking.now)) return false;
    taking.room -= bytes;
    taking.records += 1;
    this.give(seq, parked);
    return true;
  }
}
