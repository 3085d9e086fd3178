/**
 * The decision half of an HTTP source: what becomes of one authenticated record. Duplicates join or recall a verdict,
 * admission asks the sinks, `on_done` waits for the flow, `on_receipt` for the inbox.
 */
import { InputError } from '../errors/errors';
import type { KnownVerdict } from '../inbox/contract';
import type { Metrics } from '../metrics/metrics';
import type { Message } from '../node-red/types';
import type { Quota } from '../quota/quota';
import { FLOW_RETRY_SECS, refuse, type Admission, type Refusal } from './admission';
import type { Hold } from './contract';
import { EMPTY_ACCOUNT, newTally, type Account } from './ledger';
import type { Verdict } from './verdict';

/** A record on its way into the flow. */
export interface TrackedRecord {
  /** Idempotency key within this source: the sender's id, or one derived from the request. */
  readonly key: string;
  readonly receivedAt: number;
  /** Row of the inbox that keeps it. */
  readonly row?: number;
  /** Without `_msgid` and `sluice`: the lineage sets both. */
  readonly message: Message;
}

/** One record as it came through the door. */
export interface IncomingRecord extends TrackedRecord {
  /** Digest of the raw body: the same key with another body is a different record. */
  readonly digest: string;
  /** Estimated size once stored. */
  readonly bytes: number;
}

/** What the sender is told. */
export type Outcome =
  | { readonly kind: 'done' | 'accepted'; readonly id: string }
  | { readonly kind: 'rejected'; readonly error: Error }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

/** Verdicts of this source's records that ended. A lookup waits only while the file is being loaded. */
export interface VerdictMemory {
  recall(key: string): KnownVerdict | undefined | Promise<KnownVerdict | undefined>;
  remember(key: string, verdict: KnownVerdict): void;
}

/** Takes a record into durable custody before its sender hears 200. */
export interface Receiver {
  /**
   * Resolves once the record is durable (and its answer remembered), and runs it then. Rejects when it can't be
   * stored: nothing was accepted.
   */
  accept(record: IncomingRecord, holds: ReadonlyMap<string, Hold> | undefined): Promise<void>;
  /** Asked at the door: a refusal when the inbox has no room. */
  canAccept(record: IncomingRecord): Refusal | undefined;
}

export interface EntryOptions {
  readonly source: string;
  readonly respond: 'on_done' | 'on_receipt';
  readonly acceptWhileFull: boolean;
  /** How long an on_done answer waits. The record itself may take longer: its late verdict is remembered. */
  readonly doneTimeoutMs: number;
  readonly maxInFlight: number;
}

export interface EntryDeps {
  readonly admit: (bytes: number) => Admission;
  readonly deliver: (record: IncomingRecord, holds: ReadonlyMap<string, Hold>) => Promise<Verdict>;
  readonly metrics: Pick<Metrics, 'recordsAccepted' | 'recordsRefused'>;
  readonly memory: VerdictMemory | undefined;
  readonly receiver: Receiver | undefined;
  /** Room for the bytes of records that are on their way: they lie in memory until they end. */
  readonly room: Pick<Quota, 'reserve' | 'free'>;
  /** Milliseconds of any clock that only goes forward. */
  readonly now: () => number;
  /** Told of faults that no sender can be blamed for: the record was refused. */
  readonly report: (fault: unknown) => void;
}

interface Running {
  readonly digest: string;
  readonly outcome: Promise<Outcome>;
}

/** What became of records, by the words of the status document. */
export const NO_RECORDS = {
  accepted: 0,
  backpressured: 0,
  rejected: 0,
  duplicates: 0,
  failed: 0,
  in_flight: 0,
};

/** A refusal is shown this long, so that nobody misses one between two looks. */
const TROUBLE_LASTS_MS = 10_000;

const FLOW_BUSY = { kind: 'refused', refusal: refuse('flow', FLOW_RETRY_SECS) } as const;

export class Entry {
  readonly #running = new Map<string, Running>();
  readonly #counters = { ...NO_RECORDS };
  /** Of the records that wait for the flow here; those of the inbox are its own. */
  readonly #tally = newTally();
  #inFlight = 0;
  #trouble = { sink: '', at: Number.NEGATIVE_INFINITY };
  /** Records whose key is being looked up in a file that isn't loaded yet. */
  #recalling = 0;

  constructor(
    private readonly options: EntryOptions,
    private readonly deps: EntryDeps,
  ) {}

  /** Records admitted and not yet settled. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Who made a record stay with its sender in the last seconds: a sink's name, or `flow`. */
  trouble(): string | undefined {
    const { sink, at } = this.#trouble;
    return this.deps.now() - at < TROUBLE_LASTS_MS ? sink : undefined;
  }

  counters(): Readonly<Record<string, number>> {
    return { ...this.#counters, in_flight: this.#inFlight };
  }

  /** The ledger of the records whose senders wait, or gave up waiting, for the flow. */
  account(): Account {
    return { ...EMPTY_ACCOUNT, ...this.#tally, in_flight: this.#inFlight };
  }

  /** Never rejects; settles within `doneTimeoutMs`. */
  async take(record: IncomingRecord): Promise<Outcome> {
    const joined = this.#join(record);
    if (joined) return joined;
    const outcome = this.#start(record).catch((fault: unknown) => {
      this.deps.report(fault);
      return this.#refused(refuse('flow', FLOW_RETRY_SECS));
    });
    this.#running.set(record.key, { digest: record.digest, outcome });
    const forget = () => this.#running.delete(record.key);
    outcome.then(forget, forget);
    return this.#answer(outcome);
  }

  #join({ key, digest }: IncomingRecord): Promise<Outcome> | undefined {
    const running = this.#running.get(key);
    if (!running) return undefined;
    if (running.digest !== digest) return Promise.resolve(this.#reject(keyReused(key)));
    this.#counters.duplicates += 1;
    return this.#answer(running.outcome);
  }

  async #start(record: IncomingRecord): Promise<Outcome> {
    const { room } = this.deps;
    if (!room.reserve(record.bytes)) return this.#refused(refuse('flow', FLOW_RETRY_SECS));
    try {
      return await this.#handle(record);
    } finally {
      room.free(record.bytes);
    }
  }

  async #handle(record: IncomingRecord): Promise<Outcome> {
    const known = this.deps.memory?.recall(record.key);
    let recalled: KnownVerdict | undefined;
    if (known instanceof Promise) {
      // They wait with their bodies in memory, so there must be an end to their number.
      if (this.#recalling >= this.options.maxInFlight) return this.#refused(refuse('inbox', FLOW_RETRY_SECS));
      this.#recalling += 1;
      try {
        recalled = await known;
      } catch {
        // Without what is remembered, a repeat can't be told from a new record. The inbox itself reports why.
        return this.#refused(refuse('inbox', FLOW_RETRY_SECS));
      } finally {
        this.#recalling -= 1;
      }
    } else recalled = known;
    if (recalled) return this.#recalled(record, recalled);
    return this.options.respond === 'on_receipt' ? this.#receive(record) : this.#run(record);
  }

  #recalled({ key, digest }: IncomingRecord, known: KnownVerdict): Outcome {
    if (known.digest !== digest) return this.#reject(keyReused(key));
    if (known.verdict === 'rejected') return this.#reject(rejectedBefore(key));
    this.#counters.duplicates += 1;
    return { kind: this.options.respond === 'on_receipt' ? 'accepted' : 'done', id: key };
  }

  async #run(record: IncomingRecord): Promise<Outcome> {
    const admission = this.#admit(record);
    if (!admission.admitted) return this.#refused(admission);
    this.#countAccepted();
    this.#tally.accepted += 1;
    this.#inFlight += 1;
    try {
      const verdict = await this.deps.deliver(record, admission.holds);
      return this.#settled(record, verdict);
    } finally {
      this.#inFlight -= 1;
      // The delivery has released them, unless it never began.
      for (const hold of admission.holds.values()) hold.release();
    }
  }

  async #receive(record: IncomingRecord): Promise<Outcome> {
    const { receiver } = this.deps;
    if (!receiver) return this.#refused(refuse('inbox', FLOW_RETRY_SECS));
    const full = receiver.canAccept(record);
    if (full) return this.#refused(full);
    const admission = this.#admit(record);
    if (!admission.admitted && !this.#mayWaitInInbox(admission)) return this.#refused(admission);
    try {
      await receiver.accept(record, admission.admitted ? admission.holds : undefined);
    } catch {
      if (admission.admitted) for (const hold of admission.holds.values()) hold.release();
      return this.#refused(refuse('inbox', FLOW_RETRY_SECS));
    }
    this.#countAccepted();
    return { kind: 'accepted', id: record.key };
  }

  #admit(record: IncomingRecord): Admission {
    if (this.#inFlight >= this.options.maxInFlight) return refuse('flow', FLOW_RETRY_SECS);
    return this.deps.admit(record.bytes);
  }

  /** A full sink may be waited for in the inbox; a flow that isn't running may not be the one that was deployed. */
  #mayWaitInInbox({ sink, stopped }: Refusal): boolean {
    return this.options.acceptWhileFull && !stopped && sink !== 'flow';
  }

  #settled(record: IncomingRecord, verdict: Verdict): Outcome {
    const { key, digest } = record;
    if (verdict.kind === 'done') {
      this.#tally.delivered += 1;
      this.deps.memory?.remember(key, { digest, verdict: 'done' });
      return { kind: 'done', id: key };
    }
    if (verdict.kind === 'failed' && verdict.failure === 'permanent') {
      this.#tally.dead += 1;
      this.deps.memory?.remember(key, { digest, verdict: 'rejected' });
      return this.#reject(verdict.error);
    }
    this.#counters.failed += 1;
    this.#tally.returned += 1;
    const refusal = refusalFor(verdict);
    this.#noteTrouble(refusal);
    return { kind: 'refused', refusal };
  }

  #noteTrouble({ sink }: Refusal): void {
    this.#trouble = { sink, at: this.deps.now() };
  }

  #countAccepted(): void {
    this.#counters.accepted += 1;
    this.deps.metrics.recordsAccepted(this.options.source);
  }

  #refused(refusal: Refusal): Outcome {
    this.#noteTrouble(refusal);
    this.#counters.backpressured += 1;
    this.deps.metrics.recordsRefused(this.options.source, refusal.sink);
    return { kind: 'refused', refusal };
  }

  #reject(error: Error): Outcome {
    this.#counters.rejected += 1;
    return { kind: 'rejected', error };
  }

  /** The outcome, or "come back" when it takes too long; the record goes on and a retry joins it. */
  #answer(outcome: Promise<Outcome>): Promise<Outcome> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#noteTrouble(FLOW_BUSY.refusal);
        resolve(FLOW_BUSY);
      }, this.options.doneTimeoutMs);
      void outcome.then((settled) => {
        clearTimeout(timer);
        resolve(settled);
      });
    });
  }
}

function keyReused(key: string): Error {
  return new InputError(
    'ERR_SLUICE_KEY_REUSED',
    `The id ${key.slice(0, 64)} was used before, with another body.`,
  );
}

function rejectedBefore(key: string): Error {
  return new InputError(
    'ERR_SLUICE_KEY_REJECTED',
    `The record ${key.slice(0, 64)} was rejected for good before.`,
  );
}

/** Whom to name and when to come back after a delivery that didn't end done. */
function refusalFor(verdict: Verdict): Refusal {
  if (verdict.kind !== 'failed') return refuse('flow', FLOW_RETRY_SECS);
  const sink =
    'sink' in verdict.error && typeof verdict.error.sink === 'string' ? verdict.error.sink : 'flow';
  return refuse(sink, Math.max(1, Math.ceil((verdict.retryAfterMs ?? FLOW_RETRY_SECS * 1000) / 1000)));
}
